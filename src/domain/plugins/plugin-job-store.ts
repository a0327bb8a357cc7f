/** Writes of the jobs of plugins, and of the times of their timetables. */
import { sql, type Queryable } from '../../db/database.ts';
import { flagOfPlugin } from '../../jobs/plugin-work-jobs.ts';
import { queuedJobs } from '../../jobs/queue-internals-store.ts';
import type { PluginKey } from '../plugin-host.ts';
import { fullName } from './plugin.ts';

/** Given-up jobs are shown for so long. */
const GIVEN_UP_DAYS = 30;

/** Removes the plugin's jobs, except those that run, and its timetable. */
export async function removePluginJobs(db: Queryable, key: PluginKey): Promise<void> {
  await db.execute(
    sql`SELECT 1 FROM graphile_worker.complete_jobs(ARRAY(
          SELECT j.id FROM ${queuedJobs} j WHERE j.flags ? ${flagOfPlugin(fullName(key))} AND NOT j.is_running))`,
  );
  await db.execute(sql`DELETE FROM plugin_slot WHERE vendor = ${key.vendor} AND plugin = ${key.name}`);
}

/** Makes the plugin's given-up jobs run again, with all their tries; answers how many. */
export function retryGivenUpJobs(db: Queryable, key: PluginKey): Promise<number> {
  return db.execute(
    sql`SELECT 1 FROM graphile_worker.reschedule_jobs(ARRAY(
          SELECT j.id FROM ${queuedJobs} j
           WHERE j.flags ? ${flagOfPlugin(fullName(key))} AND NOT j.is_running AND j.is_given_up), run_at => now(), attempts => 0)`,
  );
}

/** Deletes the jobs of plugins that were given up long ago. */
export async function deleteOldGivenUpJobs(db: Queryable, flag: string): Promise<void> {
  await db.execute(
    sql`SELECT 1 FROM graphile_worker.complete_jobs(ARRAY(
          SELECT j.id FROM ${queuedJobs} j
           WHERE j.flags ? ${flag} AND NOT j.is_running AND j.is_given_up
             AND j.updated_at < now() - make_interval(days => ${GIVEN_UP_DAYS}::int)))`,
  );
}

/** A line of a plugin's timetable. */
export interface SlotKey extends PluginKey {
  readonly hook: 'cron_line' | 'daily_task';
  readonly line: string;
}

/** Forgets the timetables of plugins that are not active: what passes meanwhile does not run. */
export async function deleteInactiveSlots(db: Queryable): Promise<void> {
  await db.execute(
    sql`DELETE FROM plugin_slot s
         WHERE NOT EXISTS (SELECT FROM plugin p WHERE p.vendor = s.vendor AND p.name = s.plugin AND p.status = 'active')`,
  );
}

/** Begins a line: its times from now on count. */
export async function beginLine(db: Queryable, { vendor, name, hook, line }: SlotKey): Promise<void> {
  await db.execute(
    sql`INSERT INTO plugin_slot (vendor, plugin, hook, line, slot) VALUES (${vendor}, ${name}, ${hook}, ${line}, now())
        ON CONFLICT DO NOTHING`,
  );
}

/** Stores that this time of the line has come. False: another process has done so. */
export async function takeSlot(db: Queryable, { vendor, name, hook, line }: SlotKey, slot: Date): Promise<boolean> {
  const taken = await db.execute(
    sql`UPDATE plugin_slot SET slot = ${slot}
         WHERE vendor = ${vendor} AND plugin = ${name} AND hook = ${hook} AND line = ${line} AND slot < ${slot}`,
  );
  return taken > 0;
}
