/** The followers of the event record that plugins have. */
import type { Context } from '../context.ts';
import type { Follower } from '../../events/follow-events.ts';
import type { RecordedEvent } from '../../events/event-kinds.ts';
import type { PluginEvent } from '../../plugin-api/index.ts';
import { switchedOnAmong } from './plugin-customer-store.ts';
import { pluginEventsOf } from './plugin-events.ts';

/** Unless the entry says otherwise: after the death of a process so many come again. */
const BATCH = 50;
const SECONDS_MAX = 30;

/** Those of the plugins that are live in this process, or of one of them. What they throw makes the same events come again. */
export function pluginFollowers(ctx: Pick<Context, 'db' | 'hooks'>, ofPlugin?: string): readonly Follower[] {
  const entries = ctx.hooks.owned('event_follower');
  return entries
    .filter(({ plugin }) => ofPlugin === undefined || plugin === ofPlugin)
    .map(({ plugin, value: { name, kinds, batch = BATCH, secondsMax = SECONDS_MAX, handle } }) => ({
      name: `${plugin}:${name}`,
      owner: plugin,
      batch,
      async handle(events) {
        const wanted = events.filter(({ kind }) => kinds?.includes(kind) ?? true);
        const plain = wanted.length === 0 ? [] : await visibleEvents(ctx, plugin, wanted);
        if (plain.length === 0) return;
        const timeoutMs = secondsMax * 1_000;
        const signal = AbortSignal.timeout(timeoutMs);
        await ctx.hooks.contained.run({ plugin, hook: 'event_follower' }, () => handle(plain, { signal }), {
          timeoutMs,
        });
      },
    }));
}

/**
 * Those of no customer, and those of customers for whom the plugin acts. The others are passed over. The database is asked, because an event
 * that is passed over does not come again, and this process may hear of a switch later.
 */
async function visibleEvents(
  { db, hooks }: Pick<Context, 'db' | 'hooks'>,
  plugin: string,
  recorded: readonly RecordedEvent[],
): Promise<readonly PluginEvent[]> {
  const events = await pluginEventsOf({ db }, recorded);
  const uids = events.flatMap(({ customerUid }) => (customerUid === null ? [] : [customerUid]));
  const unknown = [...new Set(uids)].filter((uid) => !hooks.mayActFor(plugin, uid));
  const [vendor = '', name = ''] = plugin.split('/');
  const switchedOn = unknown.length === 0 ? [] : await switchedOnAmong(db, { vendor, name }, unknown);
  const others = new Set(unknown.filter((uid) => !switchedOn.includes(uid)));
  return events.filter(({ customerUid }, at) => {
    // A customer that is gone has no uid any more.
    if (customerUid === null) return recorded[at]?.customerId === null || hooks.mayActFor(plugin, '');
    return !others.has(customerUid);
  });
}
