/** What the database holds, table by table, before and after a request: what the walks over rows and mutations compare. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, sql } from '../../src/db/database.ts';
import type { RestApp } from './rest-app.ts';

/** Written by reading: the time of a token's last use, failed logins. */
const RESTLESS = new Set([
  'hot.process',
  'hot.campaign_progress',
  'hot.rate_bucket',
  'hot.rate_window',
  'public.api_token',
  'public._prisma_migrations',
  'public.setting',
]);

/** Every table that a request might write to. */
export async function tablesOf(app: RestApp): Promise<readonly string[]> {
  const rows = await queryRows<{ name: string }>(
    app.ctx.db,
    sql`
    SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE ((n.nspname IN ('public', 'hot') AND c.relkind IN ('r', 'p') AND NOT c.relispartition)
        OR (n.nspname = 'graphile_worker' AND c.relname = '_private_jobs')) ORDER BY 1`,
  );
  return rows.map(({ name }) => name).filter((name) => !RESTLESS.has(name));
}

/** What is read of a table: rows whose change is no change of anything, or a part of them, are left out. */
const SOURCES: Readonly<Record<string, string>> = {
  // An upload that is refused at its end is kept as cancelled: that there was one changes nothing.
  'public.mail_list_import': "(SELECT xmin FROM mail_list_import WHERE status <> 'cancelled')",
  // A failed try to get in is written down: that it was tried changes nothing.
  // So is the file of a form that is refused at its end, which was stored and deleted again; files are watched themselves.
  'hot.audit_event': `(SELECT xmin FROM hot.audit_event
    WHERE failure IS NULL AND operation NOT IN ('startFileUpload', 'appendToFile', 'finishFileUpload', 'deleteFile'))`,
  // Every process watches campaigns: one that was run here, where nobody sends, is called stalled after three minutes.
  // Its contents are long, and are not changed without the time of the change.
  'public.campaign': `(SELECT hashtext(concat_ws(' ', id, name, subject, from_email, from_name, reply_to, status, type,
    list_id, segment_id, delivery_at, wait_until, started_at, finished_at, snapshot_at, updated_at, octet_length(html),
    octet_length(plain), wait_kind, CASE WHEN reason_code <> 'stalled' THEN reason_code END)) AS xmin
    FROM campaign)`,
};

/** Tables whose state does not tell of every change. */
export const PARTLY_WATCHED: ReadonlySet<string> = new Set(Object.keys(SOURCES));

/** Of each table by its name what differs when any of its rows was written. */
export type TableStates = ReadonlyMap<string, string>;

/** A function of the test's database, so that its plan is kept: planning 110 tables takes longer than reading them. */
const STATES = raw('public.test_table_states()');

/**
 * Of each table the count of its rows and the sum of the transactions that wrote them: nothing is written without a
 * change of these, and they take neither sorting nor reading of long values. Helpers of the plan would take longer to
 * start than all of it.
 */
async function prepareStates(app: RestApp): Promise<void> {
  const parts = (await tablesOf(app)).map(
    (name) =>
      `SELECT '${name}', count(*) || ' ' || coalesce(sum(r.xmin::text::bigint), 0) FROM ${SOURCES[name] ?? name} r`,
  );
  await app.ctx.db.execute(sql`
    CREATE OR REPLACE FUNCTION ${STATES} RETURNS TABLE (name text, state text) LANGUAGE plpgsql
      SET max_parallel_workers_per_gather = 0
      AS ${raw(`$$ #variable_conflict use_column
        BEGIN RETURN QUERY ${parts.join(' UNION ALL ')}; END $$`)}`);
}

const prepared = new WeakMap<RestApp, Promise<void>>();

/** How the tables are now. */
export async function stateOf(app: RestApp): Promise<TableStates> {
  if (!prepared.has(app)) prepared.set(app, prepareStates(app));
  await prepared.get(app);
  const rows = await queryRows<{ name: string; state: string }>(app.ctx.db, sql`SELECT * FROM ${STATES}`);
  return new Map(rows.map(({ name, state }) => [name, state]));
}

/** Names of the tables that are not as they were. */
export async function changedSince(app: RestApp, before: TableStates): Promise<string[]> {
  const now = await stateOf(app);
  return [...before.keys()].filter((name) => now.get(name) !== before.get(name));
}
