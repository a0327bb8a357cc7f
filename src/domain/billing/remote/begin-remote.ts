/** Which payments of invoices begin a subscription that the vendor keeps, instead of a single payment. */
import type { Queryable } from '../../../db/database.ts';
import type { StoredGateway } from '../gateways/payment-gateway.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { planById } from '../plans/plan-store.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';
import { findLink } from './remote-plan-store.ts';
import { remoteInForce } from './remote-in-force-read-model.ts';

/** The vendor's plan, or why it is a single payment: in a sentence that goes on from "cannot begin at the vendor". */
export async function remotePlanFor(
  db: Queryable,
  invoice: Invoice,
  gateway: StoredGateway,
): Promise<{ readonly remotePlanId: string } | { readonly refusal: string }> {
  const { customerId, subscriptionId: id, planId } = invoice;
  const [plan, subscription] = [await planById(db, planId), await findSubscription(db, { customerId, id })];
  const link = await findLink(db, { planId, gatewayId: gateway.id });
  if (!link) return { refusal: 'its plan is not linked with a plan of this vendor.' };
  if (invoice.kind === 'change') return { refusal: 'this invoice pays the difference of two plans.' };
  // Credit was used, or the price has changed since: the vendor takes the whole price of its plan.
  if (invoice.totalMinor !== plan.priceMinor || invoice.currencyCode !== plan.currencyCode)
    return { refusal: 'this invoice is not for the whole price of the plan.' };
  if (subscription?.frequencyAmount !== null || subscription.endsAt !== null)
    return { refusal: 'the subscription has an end or a period of its own.' };
  if (await remoteInForce(db, subscription)) return { refusal: 'the vendor keeps one for it already.' };
  return { remotePlanId: link.remotePlanId };
}
