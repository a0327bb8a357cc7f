/** How REST shows email verification servers. */
import type { RestEmailVerificationServerFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

/** A row of the index. */
export function presentVerificationServerRow(server: RestEmailVerificationServerFragment) {
  const { uid, name, type, status } = server;
  return { uid, name, type, status, created_at: restTime(server.createdAt), updated_at: restTime(server.updatedAt) };
}

/** The whole server; the settings are without credentials. */
export function presentVerificationServer(server: RestEmailVerificationServerFragment) {
  return {
    ...presentVerificationServerRow(server),
    fault: server.fault ?? null,
    settings: server.settings,
    per_minute_max: server.perMinuteMax ?? null,
    is_system: server.isSystem,
  };
}
