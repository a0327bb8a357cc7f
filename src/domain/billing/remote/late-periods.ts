/**
 * Periods of a vendor's subscription that were skipped as unpaid, and that its customer has paid after all, as by an old invoice at the vendor. The
 * money becomes credit, once: ours has gone on meanwhile.
 */
import type { PeriodPayment, RemotePeriod } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import { recordEvent, workOnCustomer, type BillingWork } from '../billing-work.ts';
import { changeCredit } from '../invoices/credit-store.ts';
import { currencyByCode } from '../currencies.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import { findInvoice, type Invoice } from '../invoices/invoice-store.ts';
import type { Money } from '../money.ts';
import { findPaymentByUid } from '../payments/payment-store.ts';
import { periodEnd, type Frequency } from '../subscriptions/period.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';
import type { Remote } from './remote-subscription-store.ts';
import { deleteUnpaidPeriod, insertUnpaidPeriod, unpaidPeriods, type UnpaidPeriod } from './unpaid-period-store.ts';
import { periodsSince } from './walk-remotes.ts';

/** Vendors give their own tries up after two months; an invoice that is open there can be paid by hand for longer. */
const LOOKED_FOR_MS = 180 * 24 * 60 * 60_000;

/** Remembers a period that is skipped. */
export async function noteUnpaidPeriod(
  work: BillingWork,
  row: Remote,
  { end, frequency }: { readonly end: Date; readonly frequency: Frequency },
): Promise<void> {
  const halfMs = (periodEnd(end, frequency, 1).getTime() - end.getTime()) / 2;
  const [from, to] = [new Date(end.getTime() - halfMs), new Date(end.getTime() + halfMs)];
  await insertUnpaidPeriod(work.ctx.db, row, { endsAt: end, from, to });
}

/** Whether one may still be paid: then the vendor is read on, also when its subscription has ended. */
export async function awaitsPayment({ ctx, at }: BillingWork, row: Remote): Promise<boolean> {
  return (await unpaidPeriods(ctx.db, row, new Date(at.getTime() - LOOKED_FOR_MS))).length > 0;
}

/** Asks the vendor about skipped periods, if there are some. Throws what reading throws. */
export async function findLatePayments(ctx: Context, open: OpenGateway, row: Remote): Promise<void> {
  if (!open.can('getRemotePeriods')) return;
  const skipped = await unpaidPeriods(ctx.db, row, new Date(ctx.clock.now().getTime() - LOOKED_FOR_MS));
  const [first] = skipped;
  if (!first) return;
  const periods = await periodsSince(ctx, open, { remoteId: row.remoteId, since: first.from });
  for (const unpaid of skipped) {
    const money = paymentOf(periods, unpaid);
    if (money)
      await workOnCustomer({ ...ctx, viewer: null }, row.customerId, (work) => keep(work, row, { unpaid, money }));
  }
}

/** A period may have an invoice that nobody paid, one whose money went back, and another one that was paid. */
function paymentOf(periods: readonly RemotePeriod[], { from, to }: UnpaidPeriod): Money | undefined {
  const own = periods.filter(({ endsAt }) => endsAt > from && endsAt <= to);
  return own.flatMap(({ payment }) => (payment ? [keptOf(payment)] : [])).find(({ minor }) => minor > 0n);
}

/** Less what was paid back. */
function keptOf({ amountMinor, refundedMinor = 0n, currencyCode }: PeriodPayment): Money {
  return { minor: amountMinor - refundedMinor, currencyCode };
}

async function keep(
  work: BillingWork,
  row: Remote,
  { unpaid, money }: { readonly unpaid: UnpaidPeriod; readonly money: Money },
): Promise<void> {
  const { db } = work.ctx;
  const subscription = await findSubscription(db, { customerId: row.customerId, id: row.subscriptionId });
  // Our books have no other currencies.
  const invoice = await beginningOf(work, row);
  if (!subscription || !invoice || currencyByCode(money.currencyCode) === undefined) return;
  if (!(await deleteUnpaidPeriod(db, row, unpaid.endsAt))) return;
  await changeCredit(db, { customerId: row.customerId, money, invoiceUid: invoice.uid, at: work.at });
  const day = unpaid.endsAt.toISOString().slice(0, 10);
  const note = `The vendor's subscription ${row.remoteId} got the money for the period to ${day}, which had been skipped as unpaid: it was kept as credit.`;
  await recordEvent(work, subscription, { event: 'payment_credited', amount: money, invoiceUid: invoice.uid, note });
}

/** The invoice whose payment has begun it. */
async function beginningOf(
  { ctx: { db } }: BillingWork,
  { customerId, intentUid }: Remote,
): Promise<Invoice | undefined> {
  const payment = await findPaymentByUid(db, intentUid);
  return payment && findInvoice(db, { customerId, id: payment.invoiceId });
}
