/** Events of the event record as plugins get them: by hooks, and by followers of their own. */
import { customerUidsOf } from '../accounts/customer-store.ts';
import type { Context } from '../context.ts';
import type { RecordedEvent } from '../../events/event-kinds.ts';
import type { PluginEvent } from '../../plugin-api/index.ts';

/** With the uids of their customers. */
export async function pluginEventsOf(
  { db }: Pick<Context, 'db'>,
  events: readonly RecordedEvent[],
): Promise<readonly PluginEvent[]> {
  const ids = events.flatMap(({ customerId }) => (customerId === null ? [] : [customerId]));
  const uids = new Map((await customerUidsOf(db, [...new Set(ids)])).map(({ id, uid }) => [id, uid]));
  return events.map(({ id, customerId, objectUid: uid, happenedAt, ...happening }) => ({
    ...happening,
    ...{ id: String(id), uid, happenedAt: happenedAt.toISOString() },
    customerUid: customerId === null ? null : (uids.get(customerId) ?? null),
  }));
}

/** The hooks as they are for a kind that is known only now. */
interface EventHooks {
  fire(name: string, event: PluginEvent): Promise<void>;
}

/** Fires the hook of the event's kind. */
export async function fireEventHook(ctx: Context, event: PluginEvent): Promise<void> {
  const hooks: EventHooks = ctx.hooks;
  // `customer_added` and `plan_changed` have arguments of their own.
  if (event.kind !== 'customer_added')
    await hooks.fire(event.kind === 'plan_changed' ? 'plan_edited' : event.kind, event);
}
