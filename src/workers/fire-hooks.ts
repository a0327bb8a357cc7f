/** The follower `hooks`: fires the EVENT hooks of plugins from the event record, each event in one process of the installation. */
import type { Context } from '../domain/context.ts';
import { findAddedCustomer } from '../domain/accounts/customer-store.ts';
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
      for (const event of events) await fire(ctx, event);
    },
  };
}

async function fire({ db, hooks, log }: Context, event: RecordedEvent): Promise<void> {
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
  }
}
