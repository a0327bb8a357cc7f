/**
 * Pace of a sending server: a token bucket in the database, shared by all workers, refilled by its clock.
 * Reaching the pace never sleeps on a worker: the caller puts the rest back and comes again later.
 */
import { sql, type Queryable } from '../../db/database.ts';

/** At most `value` messages in `periodSeconds`. */
export interface SendingQuota {
  readonly value: number;
  readonly periodSeconds: number;
}

/** A bucket holds one second's worth (at least one message), so that no window sees much more than the quota. */
const BURST_SECONDS = 1;

export interface Grant {
  readonly granted: number;
  /** Seconds until there is more, at least one. */
  readonly waitSeconds: number;
}

interface PacedServer {
  readonly serverId: bigint;
  readonly quota: SendingQuota;
}

/** Takes up to `wanted` messages from the server's quota. */
export async function takeQuota(db: Queryable, { serverId, quota }: PacedServer, wanted: number): Promise<Grant> {
  const capacity = Math.min(quota.value, Math.max(1, perSecond(quota) * BURST_SECONDS));
  const [row] = await db.query<{ granted: number }>(
    sql`SELECT hot.take_tokens(${bucketOf(serverId)}, ${wanted}::int, ${capacity}::float8, ${perSecond(quota)}::float8) AS granted`,
    'sending.take-quota',
  );
  return { granted: row?.granted ?? 0, waitSeconds: waitSeconds(quota) };
}

/** Seconds until there may be something to take: 0 now. Takes nothing. */
export async function quotaWaitSeconds(db: Queryable, { serverId, quota }: PacedServer): Promise<number> {
  const [row] = await db.query<{ isEmpty: boolean }>(
    sql`SELECT tokens + extract(epoch FROM clock_timestamp() - refilled_at) * ${perSecond(quota)}::float8 < 1 AS "isEmpty"
          FROM hot.rate_bucket WHERE key = ${bucketOf(serverId)}`,
    'sending.look-at-quota',
  );
  return row?.isEmpty ? waitSeconds(quota) : 0;
}

function bucketOf(serverId: bigint): string {
  return `server:${serverId}`;
}

function perSecond({ value, periodSeconds }: SendingQuota): number {
  return value / periodSeconds;
}

function waitSeconds(quota: SendingQuota): number {
  return Math.max(1, quota.value > 0 ? 1 / perSecond(quota) : quota.periodSeconds);
}
