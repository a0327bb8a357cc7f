/** Invoices the next period of a subscription whose period is over. */
import { recordEvent, type BillingWork } from '../billing-work.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import type { Plan } from '../plans/plan.ts';
import type { Subscription } from './subscription.ts';
import { totalOf, writeInvoice } from '../invoices/write-invoice.ts';

/** The invoice is due then; one with total zero, because credit pays it, must be settled by the caller. */
export async function billRenewal(
  work: BillingWork,
  subscription: Subscription,
  { plan, dueAt }: { plan: Plan; dueAt: Date },
): Promise<Invoice> {
  const periodStartsAt = subscription.currentPeriodEndsAt;
  const invoice = await writeInvoice(work, subscription, {
    kind: 'renewal',
    plan,
    unused: null,
    periodStartsAt,
    dueAt,
  });
  if (invoice.totalMinor > 0n)
    await recordEvent(work, subscription, { event: 'renewal_due', amount: totalOf(invoice), invoiceUid: invoice.uid });
  return invoice;
}
