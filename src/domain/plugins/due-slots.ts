/**
 * The timetables of plugins: cron lines and daily tasks. A job each minute enqueues what has come due, by the clock of the database. The
 * last time of each line is a row, so each runs once, also with many processes and after kills. Lines come and go with their plugins.
 */
import { databaseNow } from '../../db/now.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { runPluginWorkJob } from '../../jobs/plugin-work-jobs.ts';
import { latestSlot, parseCronLine, type CronTimes } from '../../lib/cron-line.ts';
import { inTransaction, type Context } from '../context.ts';
import { flagsOf } from './enqueue-plugin-job.ts';
import { isJobRunning, knownSlots } from './plugin-job-read-model.ts';
import { beginLine, deleteInactiveSlots, takeSlot, type SlotKey } from './plugin-job-store.ts';
import { fullName } from './plugin.ts';

interface LiveLine extends SlotKey {
  readonly times: CronTimes;
  readonly attemptsMax: number | undefined;
}

/** Enqueues each line of a live plugin of which a time has come; of several the latest. A line that still runs has to wait. */
export async function enqueueDueSlots(ctx: Context): Promise<void> {
  await deleteInactiveSlots(ctx.db);
  const now = await databaseNow(ctx.db);
  const known = new Map(
    (await knownSlots(ctx.db)).map(({ plugin: name, ...row }) => [keyOf({ ...row, name }), row.slot]),
  );
  for (const line of liveLines(ctx)) {
    const last = known.get(keyOf(line));
    if (!last) await beginLine(ctx.db, line);
    const slot = last && latestSlot(line.times, { after: last, upTo: now });
    if (slot) await inTransaction(ctx, (inner) => enqueueSlot(inner, line, slot));
  }
}

async function enqueueSlot({ db }: Context, line: LiveLine, slot: Date): Promise<void> {
  const plugin = fullName(line);
  const key = `plugin-slot:${keyOf(line)}`;
  if ((await isJobRunning(db, key)) || !(await takeSlot(db, line, slot))) return;
  const work = { plugin, hook: line.hook, name: line.line, payload: { slot: slot.toISOString() } };
  const { attemptsMax } = line;
  await enqueue(db, runPluginWorkJob, work, {
    ...{ key, flags: flagsOf(plugin) },
    ...(attemptsMax === undefined ? {} : { attemptsMax }),
  });
}

function liveLines({ hooks }: Context): LiveLine[] {
  const lines = hooks
    .owned('cron_line')
    .map(({ plugin, value }) => ({ plugin, value, hook: 'cron_line', text: value.line }) as const);
  const tasks = hooks
    .owned('daily_task')
    .map(
      ({ plugin, value }) =>
        ({ plugin, value, hook: 'daily_task', text: `${minuteOf(plugin)} ${value.hour} * * *` }) as const,
    );
  return [...lines, ...tasks].map(({ plugin, value, hook, text }) => {
    const [vendor = '', name = ''] = plugin.split('/');
    return { vendor, name, hook, line: value.name, times: parseCronLine(text), attemptsMax: value.attemptsMax };
  });
}

/** So that the tasks of all plugins do not begin at once. */
function minuteOf(plugin: string): number {
  return [...plugin].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 60;
}

function keyOf({
  vendor,
  name,
  hook,
  line,
}: Pick<SlotKey, 'vendor' | 'name' | 'line'> & { readonly hook: string }): string {
  return `${vendor}/${name}:${hook}:${line}`;
}
