/**
 * Pace of a sending server: a token bucket in the database, shared by all workers, refilled by its clock.
 * Reaching the pace never sleeps on a worker: the caller puts the rest back and comes again later.
 */
import { sql, type Queryable } from '../../db/database.ts';
import type { SendingQuota } from './driver-pool.ts';

/** A bucket holds one second's worth (at least one message), so that no window sees much more than the quota. */
const BURST_SECONDS = 1;

export interface Grant {
  readonly granted: number;
  /** Seconds until there is more, at least one. */
  readonly waitSeconds: number;
}

/** Takes up to `wanted` messages from the server's quota. */
export async function takeQuota(db: Queryable, server: { serverId: bigint; quota: SendingQuota }, wanted: number): Promise<Grant> {
  const { serverId, quota } = server;
  const perSecond = quota.value / quota.periodSeconds;
  const capacity = Math.min(quota.value, Math.max(1, perSecond * BURST_SECONDS));
  const [row] = await db.query<{ granted: number }>(
    sql`SELECT hot.take_tokens(${`server:${serverId}`}, ${wanted}::int, ${capacity}::float8, ${perSecond}::float8) AS granted`,
    'sending.take-quota',
  );
  return { granted: row?.granted ?? 0, waitSeconds: Math.max(1, perSecond > 0 ? 1 / perSecond : quota.periodSeconds) };
}
