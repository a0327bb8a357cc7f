/** The follower `hooks`: fires the EVENT hooks of plugins from the event record, each event in one process of the installation. */
import type { Context } from '../domain/context.ts';
import { findAddedCustomer } from '../domain/accounts/customer-store.ts';
import { fireEventHook, pluginEventsOf } from '../domain/plugins/plugin-events.ts';
import { followPluginsOnce } from '../domain/plugins/follow-plugins.ts';
import type { RecordedEvent } from '../events/event-kinds.ts';
import type { Follower } from '../events/follow-events.ts';

/** After the death of a process so many events may be fired again. */
const BATCH = 50;

/** Fires what the events mean to plugins. Customers that were deleted meanwhile are left out. */
export function hooksFollower(ctx: Context): Follower {
  return {
    name: 'hooks',
    owner: 'mailwright',
    batch: BATCH,
    async handle(events) {
      const plain = await pluginEventsOf(ctx, events);
      for (const [at, event] of events.entries()) {
        await fire(ctx, event);
        if (plain[at]) await fireEventHook(ctx, plain[at]);
      }
    },
  };
}

async function fire(ctx: Context, event: RecordedEvent): Promise<void> {
  const { db, hooks, log } = ctx;
  const { kind, objectUid } = event;
  if (kind === 'customer_added') {
    const customer = await findAddedCustomer(db, objectUid);
    if (customer) await hooks.fire('customer_added', customer);
    else log.debug('hook.not_fired', { hook: 'customer_added', reason: 'deleted meanwhile' });
  } else if (kind === 'subscription_plan_changed')
    await hooks.fire('plan_changed', { ...event.data, subscriptionUid: objectUid });
  else if (kind === 'subscription_ended' && event.data.wasRunning && !event.data.isReplaced) {
    const { customerUid, planUid } = event.data;
    await hooks.fire('subscription_terminated', { uid: objectUid, customerUid, planUid });
  } else if (kind === 'plugin_activated' || kind === 'plugin_deleted') await firePluginHook(ctx, event);
}

async function firePluginHook(ctx: Context, { kind, objectUid: name, data }: RecordedEvent): Promise<void> {
  const [vendor = '', plugin = ''] = name.split('/');
  if (kind === 'plugin_deleted')
    await ctx.hooks.fire(`delete_plugin_${vendor}/${plugin}`, { name, keepData: data.isDataKept });
  if (kind !== 'plugin_activated' || !data.isFirst) return;
  // The announcement of the activation may come later than the event: the plugin itself is to get it.
  await followPluginsOnce(ctx);
  await ctx.hooks.fire(`activate_plugin_${vendor}/${plugin}`, { name });
}
