/** What the database holds, table by table, before and after a request: what the walks over rows and mutations compare. */
import { join, raw, sql, type Sql } from '../../src/db/database.ts';
import type { RestApp } from './rest-app.ts';

/** Written by reading: the time of a token's last use, failed logins. */
const RESTLESS = new Set([
  'hot.process',
  'hot.campaign_watch',
  'hot.rate_bucket',
  'public.api_token',
  'public.login_failure',
  'public._prisma_migrations',
  'public.setting',
]);

/** Every table that a request might write to. */
export async function tablesOf(app: RestApp): Promise<readonly string[]> {
  const rows = await app.ctx.db.query<{ name: string }>(sql`
    SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE ((n.nspname IN ('public', 'hot') AND c.relkind IN ('r', 'p') AND NOT c.relispartition)
        OR (n.nspname = 'graphile_worker' AND c.relname = '_private_jobs')) ORDER BY 1`);
  return rows.map(({ name }) => name).filter((name) => !RESTLESS.has(name));
}

/** An upload that is refused at its end is kept as cancelled: that there was one is no change of anything. */
const CANCELLED_IMPORTS = sql`(SELECT * FROM mail_list_import WHERE status <> 'cancelled')`;

/** Every process watches campaigns: one that was run here, where nobody sends, is called stalled after three minutes. */
const CALM_CAMPAIGNS = sql`(SELECT (CASE WHEN starts_with(c.status_reason, 'No progress since ')
  THEN jsonb_populate_record(c, '{"status_reason": null}') ELSE c END).* FROM campaign c)`;

const SOURCES: Readonly<Record<string, Sql>> = {
  'public.mail_list_import': CANCELLED_IMPORTS,
  'public.campaign': CALM_CAMPAIGNS,
};

/** Of each table by its name a digest, which differs when any of its rows does. */
export type TableStates = ReadonlyMap<string, string>;

/** How these tables are now. */
export async function stateOf(app: RestApp, tables: readonly string[]): Promise<TableStates> {
  const parts = tables.map(
    (name) =>
      sql`SELECT ${name}::text AS name, count(*) || coalesce(md5(string_agg(r::text, ',' ORDER BY r::text)), '') AS digest
        FROM ${SOURCES[name] ?? raw(name)} r`,
  );
  const rows = await app.ctx.db.query<{ name: string; digest: string }>(join(parts, ' UNION ALL '));
  return new Map(rows.map(({ name, digest }) => [name, digest]));
}

/** Names of the tables that are not as they were. */
export async function changedSince(app: RestApp, before: TableStates): Promise<string[]> {
  const now = await stateOf(app, [...before.keys()]);
  return [...before.keys()].filter((name) => now.get(name) !== before.get(name));
}
