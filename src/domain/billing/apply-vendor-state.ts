/** What a vendor says about an intent becomes its state here, when everything fits. */
import { z } from 'zod';
import type { VendorIntent } from '../../plugin-api/index.ts';
import { recordEvent, type BillingWork } from './billing-work.ts';
import { isCharging } from './end-open-try.ts';
import { findInvoice } from './invoice-store.ts';
import { moveIntent } from './move-intent.ts';
import { isOpen, nextSyncAt, type Payment } from './payment-intent.ts';
import { findPayment, markPaidLate, noteSync, raiseRefund } from './payment-store.ts';
import { receivePayment } from './receive-payment.ts';
import { saveMethod } from './saved-methods.ts';
import { findSubscription } from './subscription-store.ts';

const REASON_LENGTH_MAX = 500;
/** Debits of bank accounts take about so long. */
const CHARGE_DAYS_MAX = 7;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** An answer comes from a plugin: nobody has looked at it yet. */
const vendorIntentShape = z.object({
  intentUid: z.string().nullable(),
  reference: z.string().min(1).max(255),
  status: z.enum(['PENDING', 'REQUIRES_ACTION', 'SUCCEEDED', 'FAILED', 'CANCELLED']),
  amountMinor: z.bigint(),
  currencyCode: z.string(),
  refundedMinor: z.bigint().min(0n).default(0n),
  reason: z
    .string()
    .transform((text) => text.slice(0, REASON_LENGTH_MAX))
    .nullable()
    .default(null),
  savedMethod: z.record(z.string().max(100), z.string().max(1_000)).optional(),
});

/** Throws when a plugin answers something else. */
export function readVendorIntent(answered: unknown): VendorIntent {
  const { savedMethod, ...rest } = vendorIntentShape.parse(answered);
  return { ...rest, ...(savedMethod && { savedMethod }) };
}

/** Moves the intent as it is under the customer's lock, and uses its money once. What does not fit changes nothing and is noted. */
export async function applyVendorState(work: BillingWork, key: Payment, vendor: VendorIntent): Promise<void> {
  const intent = await findPayment(work.ctx.db, key);
  if (!intent) return;
  const mismatch = mismatchOf(intent, vendor);
  if (mismatch !== undefined) return note(work, intent, mismatch);
  if (vendor.savedMethod) await saveMethod(work, intent, vendor.savedMethod);
  const refunded = await noteRefund(work, intent, vendor);
  if (vendor.status === 'SUCCEEDED') await applyPaid(work, refunded);
  else if (isStuck(work, intent, vendor))
    await moveIntent(work, intent, { to: 'CANCELLED', reason: 'The vendor never said whether the charge succeeded.' });
  else if (isOpen(intent) && vendor.status !== intent.status)
    await applyOther(work, intent, { to: vendor.status, reason: vendor.reason ?? null });
  await note(work, (await findPayment(work.ctx.db, key)) ?? intent, null);
}

/** A charge that the vendor neither makes nor refuses must not keep the subscription for ever. What is paid later is late money. */
function isStuck({ at }: BillingWork, intent: Payment, { status }: VendorIntent): boolean {
  if (status !== 'PENDING' || !isCharging(intent) || intent.chargedAt === null) return false;
  return at.getTime() - intent.chargedAt.getTime() > CHARGE_DAYS_MAX * DAY_MS;
}

/** Why the vendor's object is not this intent's; amount and currency count only once money is said to have moved. */
function mismatchOf(intent: Payment, vendor: VendorIntent): string | undefined {
  if (vendor.reference !== intent.reference)
    return `The vendor answered about "${vendor.reference}" instead of "${intent.reference}".`;
  if (vendor.intentUid !== intent.uid)
    return `The vendor's object "${vendor.reference}" carries the intent "${vendor.intentUid ?? ''}".`;
  if (vendor.status !== 'SUCCEEDED') return undefined;
  if (vendor.currencyCode !== intent.currencyCode || vendor.amountMinor !== intent.amountMinor)
    return `The vendor got ${vendor.amountMinor} ${vendor.currencyCode} instead of ${intent.amountMinor} ${intent.currencyCode}.`;
  return undefined;
}

async function applyPaid(work: BillingWork, intent: Payment): Promise<void> {
  const moved = await moveIntent(work, intent, { to: 'SUCCEEDED' });
  if (moved) return receivePayment(work, moved);
  if (await markPaidLate(work.ctx.db, intent, work.at)) await receivePayment(work, intent);
}

async function applyOther(
  work: BillingWork,
  intent: Payment,
  move: { readonly to: 'PENDING' | 'REQUIRES_ACTION' | 'FAILED' | 'CANCELLED'; readonly reason: string | null },
): Promise<void> {
  const moved = await moveIntent(work, intent, move);
  if (moved && move.to === 'FAILED') await recordOf(work, intent, { event: 'payment_failed', note: move.reason });
}

/** Money that was paid back is shown to the operator, who decides about the plan. */
async function noteRefund(
  work: BillingWork,
  intent: Payment,
  { refundedMinor: minor = 0n }: VendorIntent,
): Promise<Payment> {
  if (minor <= intent.refundedMinor || !(await raiseRefund(work.ctx.db, intent, { minor, at: work.at }))) return intent;
  await recordOf(work, intent, { event: 'payment_refunded', note: null, minor });
  return { ...intent, refundedMinor: minor };
}

async function recordOf(
  work: BillingWork,
  { customerId, invoiceId, amountMinor, currencyCode }: Payment,
  {
    event,
    note: text,
    minor = amountMinor,
  }: { event: 'payment_failed' | 'payment_refunded'; note: string | null; minor?: bigint },
): Promise<void> {
  const invoice = await findInvoice(work.ctx.db, { customerId, id: invoiceId });
  const subscription = invoice && (await findSubscription(work.ctx.db, { customerId, id: invoice.subscriptionId }));
  if (!subscription) return;
  await recordEvent(work, subscription, {
    event,
    amount: { minor, currencyCode },
    invoiceUid: invoice.uid,
    note: text,
  });
}

async function note({ ctx, at }: BillingWork, intent: Payment, error: string | null): Promise<void> {
  if (error !== null) ctx.log.error('billing.payment_mismatch', { payment: intent.uid, message: error });
  await noteSync(ctx.db, intent, { at, nextSyncAt: nextSyncAt(intent, at), error });
}
