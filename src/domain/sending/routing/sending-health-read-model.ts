/** The state of sending servers: health and warm-up, for their operators. Reads only. */
import { sql, row, typed, type Queryable, type RowOf } from '../../../db/database.ts';

const HEALTH_ROW = row({
  serverId: 'bigint',
  /** A provider, or a domain; empty: the server as a whole. */
  group: 'text',
  state: typed<'closed' | 'open' | 'half-open'>('text'),
  failures: 'int',
  /** While it is tried again: how many messages at once. */
  slots: 'int',
  restsUntil: 'timestamptz?',
  lastError: 'text?',
  changedAt: 'timestamptz',
});
/** One group's health; a group without a row is healthy, and not listed. */
export type HealthRow = RowOf<typeof HEALTH_ROW>;

const WARM_UP_STATE_ROW = row({
  serverId: 'bigint',
  day: 'int',
  /** Null: the warm-up has ended, there is no limit. */
  limit: 'int?',
  used: 'int',
  sent: 'int',
  bounced: 'int',
});
export type WarmUpState = RowOf<typeof WARM_UP_STATE_ROW>;

/** Unhealthy groups of these servers, the servers themselves first. */
export async function healthOfServers(db: Queryable, serverIds: readonly bigint[]): Promise<HealthRow[]> {
  return db.query(
    HEALTH_ROW,
    sql`SELECT server_id AS "serverId", mailbox_group AS group, state, failures, slots, last_error AS "lastError", changed_at AS "changedAt",
               CASE WHEN open_until > now() THEN open_until END AS "restsUntil"
          FROM hot.sending_health WHERE server_id = ANY (${[...serverIds]}::bigint[]) ORDER BY server_id, mailbox_group LIMIT 10000`,
  );
}

/** How many active servers are paused as a whole. */
export async function restingServers(db: Queryable): Promise<number> {
  const [row] = await db.query(
    { servers: 'int' },
    sql`SELECT count(*)::int AS servers FROM hot.sending_health h JOIN sending_server s ON s.id = h.server_id AND s.status = 'active'
         WHERE h.mailbox_group = '' AND h.state <> 'closed'`,
  );
  return row?.servers ?? 0;
}

/** The present day of these servers' warm-ups. */
export async function warmUpOfServers(db: Queryable, serverIds: readonly bigint[]): Promise<WarmUpState[]> {
  return db.query(
    WARM_UP_STATE_ROW,
    sql`SELECT s.id AS "serverId", n.day, hot.warm_up_limit(s.warm_up, n.day) AS limit, coalesce(d.taken, 0) AS used,
               coalesce(d.sent, 0) AS sent, coalesce(d.bounced, 0) AS bounced
          FROM sending_server s
         CROSS JOIN LATERAL (SELECT hot.warm_up_day_no(s.warm_up_started_at) AS day) n
          LEFT JOIN hot.warm_up_day d ON d.server_id = s.id AND d.day = n.day
         WHERE s.id = ANY (${[...serverIds]}::bigint[]) AND s.warm_up IS NOT NULL`,
  );
}
