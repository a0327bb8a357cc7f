/** How REST shows bounce handlers and the bounce policy. */
import type { RestBounceHandlerFragment, RestBouncePolicyFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentHandler(handler: RestBounceHandlerFragment) {
  return {
    uid: handler.uid,
    name: handler.name,
    protocol: handler.protocol,
    host: handler.host,
    port: handler.port,
    encryption: handler.encryption,
    username: handler.username,
    folder: handler.folder,
    keep_reports: handler.keepsReports,
    is_system: handler.isSystem,
    status: handler.status,
    polled_at: handler.polledAt ? restTime(handler.polledAt) : null,
    last_error: handler.lastError ?? null,
    bounce_count: handler.bounceCount,
    complaint_count: handler.complaintCount,
    other_count: handler.otherCount,
    created_at: restTime(handler.createdAt),
    updated_at: restTime(handler.updatedAt),
  };
}

export function presentPolicy({ softBounceLimit, softBounceDays, isOwn }: RestBouncePolicyFragment) {
  return { soft_bounce_limit: softBounceLimit, soft_bounce_days: softBounceDays, is_own: isOwn };
}
