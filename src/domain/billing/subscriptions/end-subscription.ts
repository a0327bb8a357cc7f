/** Ends a subscription, for any reason. */
import { recordEvents } from '../../../events/event-store.ts';
import { recordEvent, type BillingWork, type HistoryEvent } from '../billing-work.ts';
import { planById } from '../plans/plan-store.ts';
import { withdrawRemotes } from '../remote/withdraw-remotes.ts';
import { saveSubscription } from './subscription-store.ts';
import { ended, isRunning, type Subscription } from './subscription.ts';
import { voidPendingInvoice } from '../invoices/write-invoice.ts';

export interface Ending {
  readonly event: Extract<HistoryEvent, 'ended' | 'terminated'>;
  readonly note: string | null;
  /** When it ended; now, unless its end was earlier. */
  readonly at?: Date;
  /** Another subscription replaces it: the customer only gets another plan. */
  readonly isReplaced?: boolean;
}

/** Ends it; its open invoice becomes void, even if payment was claimed. */
export async function endSubscription(
  work: BillingWork,
  subscription: Subscription,
  { event, note, at = work.at, isReplaced = false }: Ending,
): Promise<Subscription> {
  const { ctx, customer } = work;
  await voidPendingInvoice(work, subscription, { evenIfClaimed: true });
  const over = await saveSubscription(ctx.db, ended(subscription, at), work.at);
  await withdrawRemotes(work, over);
  await recordEvent(work, over, { event, note });
  const { uid: planUid } = await planById(ctx.db, subscription.planId);
  const wasRunning = isRunning(subscription);
  const data = { customerUid: customer.uid, planUid, wasRunning, isReplaced, isTerminated: event === 'terminated' };
  const { customerId, uid: objectUid } = subscription;
  await recordEvents(ctx.db, [{ kind: 'subscription_ended', customerId, objectUid, data }]);
  return over;
}
