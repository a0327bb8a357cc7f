/**
 * The follower `webhooks`: makes deliveries of what happened to customers and subscriptions (specification 6.1), and to campaigns. An
 * event that comes again after a crash makes none twice: deliveries are known by event and webhook.
 */
import type { RecordedEvent } from '../../events/event-kinds.ts';
import type { Follower } from '../../events/follow-events.ts';
import { messageOf } from '../../lib/errors.ts';
import { isUnavailable } from '../../lib/is-unavailable.ts';
import type { Context } from '../context.ts';
import { campaignEvents } from './campaign-events.ts';
import { addDeliveries } from './delivery-store.ts';
import type { LifecycleEvent, PayloadOf } from './webhook-events.ts';
import { listeningWebhooks, planIdsOf } from './webhook-store.ts';

/** With a thousand webhooks of one event this makes 50,000 deliveries at once. */
const BATCH = 50;
/** With the pauses of a follower half a minute. */
const TRIES_MAX = 5;

/** The follower, for the worker. */
export function webhooksFollower(ctx: Context): Follower {
  const tries = new Map<bigint, number>();
  return {
    name: 'webhooks',
    owner: 'mailwright',
    batch: BATCH,
    async handle(events) {
      try {
        await addAll(ctx, events);
      } catch (error) {
        if (isUnavailable(error)) throw error;
        for (const event of events) await addAlone(ctx, event, tries);
      }
    },
  };
}

async function addAll(ctx: Context, events: readonly RecordedEvent[]): Promise<void> {
  await addLifecycleDeliveries(ctx, events);
  await addDeliveries(ctx.db, await campaignEvents(ctx.db, events));
}

/** After some tries it is left out, so that it does not hold up all that follow: it stays in the event record, its reason in the log. */
async function addAlone(ctx: Context, event: RecordedEvent, tries: Map<bigint, number>): Promise<void> {
  const { id, kind } = event;
  try {
    await addAll(ctx, [event]);
  } catch (error) {
    const count = (tries.get(id) ?? 0) + 1;
    tries.set(id, count);
    if (isUnavailable(error) || count < TRIES_MAX) throw error;
    ctx.log.error('webhooks.event_left_out', { eventId: Number(id), kind, message: messageOf(error) });
  }
  tries.delete(id);
}

type Parameters = {
  [Event in LifecycleEvent]: Omit<PayloadOf<Event>, 'fired_at' | 'occurred_at' | 'sequence'>;
}[LifecycleEvent];

async function addLifecycleDeliveries({ db }: Context, events: readonly RecordedEvent[]): Promise<void> {
  const plans = await planIdsOf(db, events.flatMap(plansIn));
  const known = events.flatMap((event) => {
    const parameters = parametersOf(event, (uid) => (uid === null ? null : (plans.get(uid) ?? null)));
    return parameters ? [{ event, parameters }] : [];
  });
  if (known.length === 0) return;
  const webhooks = await listeningWebhooks(db, [...new Set(known.map(({ parameters }) => parameters.event))]);
  await addDeliveries(
    db,
    known.flatMap(({ event: { id, happenedAt }, parameters }) => {
      const at = happenedAt.toISOString();
      const payload = JSON.stringify({ ...parameters, fired_at: at, occurred_at: at, sequence: Number(id) });
      const listening = webhooks.filter(
        ({ event, createdAt }) => event === parameters.event && createdAt <= happenedAt,
      );
      return listening.map((webhook) => ({
        ...{ webhook, event: parameters.event, sourceKey: `event ${id}`, personId: null, happenedAt, payload },
      }));
    }),
  );
}

function plansIn(event: RecordedEvent): string[] {
  if (event.kind === 'subscription_plan_changed')
    return [event.data.oldPlanUid, event.data.newPlanUid].filter((uid) => uid !== null);
  return 'planUid' in event.data ? [event.data.planUid] : [];
}

/** What the event means in the words of the specification; undefined: nothing. */
function parametersOf(event: RecordedEvent, planOf: (uid: string | null) => string | null): Parameters | undefined {
  if (event.customerId === null) return undefined;
  const customer = { customer_id: Number(event.customerId) };
  switch (event.kind) {
    case 'customer_added':
      return { event: 'new_customer', ...customer };
    case 'subscription_started':
      return { event: 'new_subscription', ...customer, plan_id: planOf(event.data.planUid) };
    case 'subscription_plan_changed': {
      const { oldPlanUid, newPlanUid } = event.data;
      if (oldPlanUid === null) return undefined;
      return { event: 'change_plan', ...customer, old_plan_id: planOf(oldPlanUid), new_plan_id: planOf(newPlanUid) };
    }
    case 'subscription_cancelled':
      return { event: 'cancel_subscription', ...customer, plan_id: planOf(event.data.planUid) };
    case 'subscription_ended':
      if (!event.data.wasRunning || event.data.isReplaced) return undefined;
      return { event: 'terminate_subscription', ...customer, plan_id: planOf(event.data.planUid) };
    default:
      return undefined;
  }
}
