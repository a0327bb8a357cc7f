/** The followers of the event record that plugins have. */
import type { Context } from '../context.ts';
import type { Follower } from '../../events/follow-events.ts';
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
        if (wanted.length === 0) return;
        const plain = await pluginEventsOf(ctx, wanted);
        const timeoutMs = secondsMax * 1_000;
        const signal = AbortSignal.timeout(timeoutMs);
        await ctx.hooks.contained.run({ plugin, hook: 'event_follower' }, () => handle(plain, { signal }), {
          timeoutMs,
        });
      },
    }));
}
