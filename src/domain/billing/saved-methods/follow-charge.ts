/** What follows a charge of a saved method that brought no money, or was not made: the time of the next try, and a mail to the customer. */
import { mayBeDoneElsewhere } from '../../accounts/installation-hold-read-model.ts';
import { paymentMailJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { BillingWork } from '../billing-work.ts';
import { nextChargeTime } from './charge-schedule.ts';
import { writeNextCharge } from './charge-time-store.ts';
import { findInvoice, type Invoice } from '../invoices/invoice-store.ts';
import type { Payment } from '../payments/payment-intent.ts';

/**
 * To be called in the transaction that moved the intent to FAILED, CANCELLED or REQUIRES_ACTION. One that waits for the customer is not tried
 * again, nor is a permanent refusal. Payments that the customer makes on a page have nothing to follow: the page says what happened.
 */
export async function followCharge(
  { ctx, at }: BillingWork,
  intent: Payment | undefined,
  { isPermanent = false }: { readonly isPermanent?: boolean } = {},
): Promise<void> {
  if (!intent || intent.methodId === null) return;
  const { customerId, invoiceId: id, uid, status } = intent;
  const invoice = await findInvoice(ctx.db, { customerId, id });
  if (invoice?.status !== 'pending') return;
  // In a released copy the original goes on with it, and tells the customer.
  if (await mayBeDoneElsewhere(ctx.db, invoice.periodStartsAt ?? invoice.createdAt)) return;
  const isOver = isPermanent || status === 'REQUIRES_ACTION';
  await writeNextCharge(ctx.db, invoice, isOver ? null : nextChargeTime(invoice, at));
  await enqueue(
    ctx.db,
    paymentMailJob,
    { customerId: String(customerId), intentUid: uid },
    { key: `payment-mail:${uid}:${status}` },
  );
}

/**
 * Another way to pay has taken the place of a charge that had not begun. If the customer leaves that way, the saved method is charged at the time of
 * a declined one's next try: nobody else would pay the invoice.
 */
export async function chargeIfLeft({ ctx, at }: BillingWork, replaced: Payment, invoice: Invoice): Promise<void> {
  if (replaced.methodId === null || replaced.status !== 'PENDING') return;
  await writeNextCharge(ctx.db, invoice, nextChargeTime(invoice, at));
}
