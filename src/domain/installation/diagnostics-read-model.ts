/** What the checks of an installation read: figures and uids of system objects, nothing of a customer. */
import { sql, row, type Queryable, type RowOf } from '../../db/database.ts';
import { typed } from '../../db/row.ts';

const DATABASE_ROW = row({
  now: 'timestamptz',
  version: 'text',
  versionNumber: 'int',
  connections: 'int',
  connectionsMax: 'int',
  timeZoneAgrees: 'bool',
  mayWrite: 'bool',
});
export type DatabaseFacts = RowOf<typeof DATABASE_ROW>;

export async function databaseFacts(db: Queryable): Promise<DatabaseFacts> {
  const [facts] = await db.query(
    DATABASE_ROW,
    sql`SELECT clock_timestamp() AS now, current_setting('server_version') AS version,
               current_setting('server_version_num')::int AS "versionNumber",
               (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
               current_setting('max_connections')::int AS "connectionsMax",
               current_setting('TimeZone') = 'UTC' AS "timeZoneAgrees",
               current_setting('default_transaction_read_only') = 'off' AND NOT pg_is_in_recovery() AS "mayWrite"`,
  );
  if (!facts) throw new Error('The database did not answer.');
  return facts;
}

const SERVERS_ROW = row({
  /** Active ones besides the built-in inbox. */
  active: 'int',
  /** Uids of system servers that are paused. */
  resting: 'text[]',
  /** Servers of customers that are paused. */
  restingOfCustomers: 'int',
  warmUpsStopped: 'text[]',
});
export type ServersFacts = RowOf<typeof SERVERS_ROW>;

export async function serversFacts(db: Queryable): Promise<ServersFacts> {
  const [facts] = await db.query(
    SERVERS_ROW,
    sql`WITH s AS (
          SELECT s.uid, s.is_system, s.warm_up_stopped_at IS NOT NULL AS is_stopped,
                 EXISTS (SELECT 1 FROM hot.sending_health h WHERE h.server_id = s.id AND h.mailbox_group = '' AND h.state <> 'closed') AS is_resting
            FROM sending_server s WHERE s.status = 'active' AND NOT s.is_development)
        SELECT count(*)::int AS active,
               coalesce(array_agg(uid ORDER BY uid) FILTER (WHERE is_resting AND is_system), '{}') AS resting,
               count(*) FILTER (WHERE is_resting AND NOT is_system)::int AS "restingOfCustomers",
               coalesce(array_agg(uid ORDER BY uid) FILTER (WHERE is_stopped AND is_system), '{}') AS "warmUpsStopped" FROM s`,
  );
  return facts ?? { active: 0, resting: [], restingOfCustomers: 0, warmUpsStopped: [] };
}

const DOMAINS_ROW = row({ verified: 'int', failing: 'int', oldestCheckHours: 'float8?' });
export type DomainsFacts = RowOf<typeof DOMAINS_ROW>;

export async function domainsFacts(db: Queryable): Promise<DomainsFacts> {
  const [facts] = await db.query(
    DOMAINS_ROW,
    sql`SELECT count(*) FILTER (WHERE verified_at IS NOT NULL)::int AS verified,
               count(*) FILTER (WHERE failing_since IS NOT NULL)::int AS failing,
               extract(epoch FROM now() - min(checked_at) FILTER (WHERE verified_at IS NOT NULL))::float8 / 3600 AS "oldestCheckHours"
          FROM sending_domain`,
  );
  return facts ?? { verified: 0, failing: 0, oldestCheckHours: null };
}

const RETURNS_ROW = row({
  mailboxes: 'int',
  failing: 'text[]',
  failingOfCustomers: 'int',
  /** Since a mailbox was read for the last time; null: none ever. */
  sincePollHours: 'float8?',
  /** Since a vendor's report for the last time; null: none in the time for which they are kept. */
  sinceReportHours: 'float8?',
});
export type ReturnsFacts = RowOf<typeof RETURNS_ROW>;

/** Ways on which bounces come back. */
export async function returnsFacts(db: Queryable): Promise<ReturnsFacts> {
  const [facts] = await db.query(
    RETURNS_ROW,
    sql`SELECT count(*)::int AS mailboxes,
               coalesce(array_agg(uid ORDER BY uid) FILTER (WHERE failures > 0 AND is_system), '{}') AS failing,
               count(*) FILTER (WHERE failures > 0 AND NOT is_system)::int AS "failingOfCustomers",
               extract(epoch FROM now() - max(polled_at))::float8 / 3600 AS "sincePollHours",
               (SELECT extract(epoch FROM now() - max(at))::float8 / 3600 FROM hot.webhook_event) AS "sinceReportHours"
          FROM bounce_handler WHERE status = 'active'`,
  );
  return facts ?? { mailboxes: 0, failing: [], failingOfCustomers: 0, sincePollHours: null, sinceReportHours: null };
}

/** An operator has a few; a longer list nobody reads. */
const SOURCES_MAX = 100;

const REPORT_SOURCE_ROW = row({
  kind: typed<'webhook' | 'mailbox' | 'bounce_server'>('text'),
  /** Of the sending server or the bounce handler; empty: the server for bounces. */
  uid: 'text',
  /** Of the sending server; empty for the others. */
  type: 'text',
  watchedHours: 'float8',
  /** Since the last bounce or event of a vendor; null: none has come. */
  sinceReportHours: 'float8?',
  sinceComplaintHours: 'float8?',
  /** Messages that were sent since the last report, or since it is watched, of those that it may report on. */
  sentSince: 'float8',
});
export type ReportSourceFacts = RowOf<typeof REPORT_SOURCE_ROW>;

/** The operator's ways for bounces and complaints that are in use: active ones, and not what was deleted. */
export function reportSources(db: Queryable): Promise<ReportSourceFacts[]> {
  return db.query(
    REPORT_SOURCE_ROW,
    sql`SELECT r.kind, r.uid, coalesce(s.type, '') AS type, extract(epoch FROM now() - r.since)::float8 / 3600 AS "watchedHours",
               extract(epoch FROM now() - r.reported_at)::float8 / 3600 AS "sinceReportHours",
               extract(epoch FROM now() - r.complained_at)::float8 / 3600 AS "sinceComplaintHours",
               greatest(0, t.sent - r.sent)::float8 AS "sentSince"
          FROM hot.report_source r
          LEFT JOIN sending_server s ON r.kind = 'webhook' AND s.uid = r.uid AND s.is_system AND s.status = 'active'
          LEFT JOIN bounce_handler h ON r.kind = 'mailbox' AND h.uid = r.uid AND h.is_system AND h.status = 'active'
         CROSS JOIN LATERAL (SELECT coalesce(sum(messages), 0) AS sent FROM hot.sending_total
                              WHERE outcome = 'sent' AND (r.kind <> 'webhook' OR server = r.uid)) t
         WHERE r.kind = 'bounce_server' OR s.id IS NOT NULL OR h.id IS NOT NULL
         ORDER BY r.kind, r.uid LIMIT ${SOURCES_MAX}`,
  );
}

/** Full names of plugins that Mailwright has switched off. */
export async function switchedOffPlugins(db: Queryable): Promise<readonly string[]> {
  const rows = await db.query(
    { plugin: 'text' },
    sql`SELECT vendor || '/' || name AS plugin FROM plugin WHERE switched_off_at IS NOT NULL AND status <> 'deleting' ORDER BY 1`,
  );
  return rows.map(({ plugin }) => plugin);
}
