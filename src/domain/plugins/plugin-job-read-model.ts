/** What administrators see of the jobs of plugins, and what the verbs need to know of them. */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { flagOfPlugin, type PluginWork } from '../../jobs/plugin-work-jobs.ts';
import { queuedJobs } from '../../jobs/queue-internals-store.ts';
import type { PluginKey } from '../plugin-host.ts';
import { fullName } from './plugin.ts';

const PLUGIN_JOB_ROW = row({
  id: 'text',
  hook: typed<PluginWork['hook']>('text'),
  name: 'text',
  status: typed<'waiting' | 'running' | 'given_up'>('text'),
  attempts: 'int',
  attemptsMax: 'int',
  lastError: 'text?',
  runAt: 'timestamptz',
  createdAt: 'timestamptz',
});
export type PluginJobState = RowOf<typeof PLUGIN_JOB_ROW>;

/** Longer lists nobody reads. */
const JOBS_MAX = 200;

/** The jobs of a plugin: first those that were given up, then by the time at which they run. At most 200. */
export function pluginJobStates(db: Queryable, key: PluginKey): Promise<PluginJobState[]> {
  return db.query(
    PLUGIN_JOB_ROW,
    sql`SELECT j.id::text AS id, j.payload->>'hook' AS hook, j.payload->>'name' AS name,
               CASE WHEN j.is_running THEN 'running' WHEN j.is_given_up THEN 'given_up' ELSE 'waiting' END AS status,
               j.attempts::int AS attempts, j.max_attempts::int AS "attemptsMax", j.last_error AS "lastError",
               j.run_at AS "runAt", j.created_at AS "createdAt"
          FROM ${queuedJobs} j WHERE j.flags ? ${flagOfPlugin(fullName(key))}
         ORDER BY j.is_given_up DESC, j.run_at, j.id LIMIT ${JOBS_MAX}`,
  );
}

/** How many jobs of the plugin wait; counts no further than `max`. */
export async function countWaitingJobs(db: Queryable, plugin: string, max: number): Promise<number> {
  const [row] = await db.query(
    { jobs: 'int' },
    sql`SELECT count(*)::int AS jobs FROM (
          SELECT 1 FROM ${queuedJobs} j WHERE j.flags ? ${flagOfPlugin(plugin)} AND NOT j.is_given_up LIMIT ${max}) waiting`,
  );
  return row?.jobs ?? 0;
}

/** Whether the job with this key runs now. */
export async function isJobRunning(db: Queryable, key: string): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM graphile_worker.jobs j WHERE j.key = ${key} AND j.locked_at IS NOT NULL`,
  );
  return rows > 0;
}

/** All lines of timetables with the last time that has come. */
export function knownSlots(db: Queryable) {
  return db.query(
    { vendor: 'text', plugin: 'text', hook: 'text', line: 'text', slot: 'timestamptz' },
    sql`SELECT vendor, plugin, hook, line, slot FROM plugin_slot`,
  );
}

/** The names of all plugins that have a row. */
export async function pluginNames(db: Queryable): Promise<string[]> {
  const rows = await db.query({ name: 'text' }, sql`SELECT vendor || '/' || name AS name FROM plugin`, 'plugins.names');
  return rows.map(({ name }) => name);
}
