/**
 * Ends of processes of Mailwright that nobody had asked for (specification 3.5, plugins that harm). A plugin that has caused three within ten
 * minutes is switched off: it is inactive, and its code is not even loaded before an administrator activates it again. When nothing explains
 * three, the plugin that was activated last is switched off. Never the product's own.
 */
import { notify } from '../../db/listen.ts';
import { recordEvents } from '../../events/event-store.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { switchedOffMailJob } from '../../jobs/plugin-jobs.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import type { PluginKey } from '../plugin-host.ts';
import { addEnd, findLastActivated, markSwitchedOff } from './plugin-end-store.ts';
import { findPluginRow } from './plugin-store.ts';
import { fullName, PLUGINS_CHANNEL } from './plugin.ts';

/** Ends within this time belong together. */
const TOGETHER_MS = 600_000;
const ENDS_MAX = 3;
/** The vendor of what belongs to the product. */
const OWN_VENDOR = 'mailwright';
/** A note comes from a file. */
const NAME = /^([a-z0-9-]{1,64})\/([a-z0-9-]{1,64})$/;

export interface EndedProcess {
  readonly at: Date;
  /** Such as `code 1` or `SIGKILL`. */
  readonly by: string;
  /** The plugin that has caused it, and what its code did; undefined: nothing explains it. */
  readonly note: { readonly plugin: string; readonly how: string } | undefined;
}

export interface EndsToRecord {
  /** Those that were not recorded yet. */
  readonly fresh: readonly EndedProcess[];
  /** All of the last minutes in this process's place, also those. */
  readonly recent: readonly EndedProcess[];
}

/**
 * Records the ends and switches a plugin off if necessary. Answers whether one was switched off because of ends that nothing explains: then
 * these need not be counted again.
 */
export async function recordEnds(ctx: Context, { fresh, recent }: EndsToRecord): Promise<boolean> {
  for (const end of fresh) {
    const { plugin, how } = end.note ?? {};
    ctx.log.error('process.ended', { by: end.by, at: end.at.toISOString(), plugin, how });
    if (end.note) await recordEndOfPlugin(ctx, end, end.note);
  }
  const unexplained = recent.filter(({ note, at }) => !note && at.getTime() > Date.now() - TOGETHER_MS);
  if (unexplained.length < ENDS_MAX || !fresh.some(({ note }) => !note)) return false;
  return inTransaction(ctx, async (inner) => {
    const key = await findLastActivated(inner.db, OWN_VENDOR);
    if (key === undefined) return false;
    const why = `processes of Mailwright ended ${ENDS_MAX} times within ten minutes (${unexplained.at(-1)?.by}), nothing explains it, and this plugin was activated last`;
    await switchOffBecause(inner, key, `${why}. If they go on to end, it was not the cause: activate it again.`);
    return true;
  });
}

async function recordEndOfPlugin(ctx: Context, { at }: EndedProcess, note: NonNullable<EndedProcess['note']>) {
  const [, vendor = '', name = ''] = NAME.exec(note.plugin) ?? [];
  if (vendor === '' || vendor === OWN_VENDOR) return;
  await inTransaction(ctx, async (inner) => {
    const since = new Date(at.getTime() - TOGETHER_MS);
    const count = await addEnd(inner.db, { vendor, name }, { at, since });
    if (count < ENDS_MAX) return;
    const why = `it ended processes of Mailwright ${ENDS_MAX} times within ten minutes. ${note.how}`;
    await switchOffBecause(inner, { vendor, name }, `${why} Correct it, then activate it again.`);
  });
}

async function switchOffBecause(inner: TransactionContext, key: PluginKey, why: string): Promise<void> {
  const plugin = await findPluginRow(inner.db, key, true);
  if (!plugin || plugin.switchedOffAt !== null) return;
  const reason = `It was switched off because ${why}`;
  await markSwitchedOff(inner.db, plugin, reason);
  inner.log.error('plugin.switched_off', { plugin: fullName(key), message: reason });
  await notify(inner.db, PLUGINS_CHANNEL, '');
  if (plugin.status === 'active') {
    const data = { version: plugin.version, isSwitchedOff: true } as const;
    await recordEvents(inner.db, [{ kind: 'plugin_deactivated', customerId: null, objectUid: fullName(key), data }]);
  }
  await enqueue(inner.tx, switchedOffMailJob, { plugin: fullName(key), reason });
}
