/** What a vendor says about an intent becomes its state here, when everything fits. */
import { z } from 'zod';
import type { VendorIntent } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import { recordEvent, type BillingWork } from '../billing-work.ts';
import { followCharge } from '../saved-methods/follow-charge.ts';
import { isCharging } from './end-open-try.ts';
import { methodData } from '../gateways/gateway-secrets.ts';
import { findInvoice } from '../invoices/invoice-store.ts';
import { moveIntent } from './move-intent.ts';
import { isOpen, nextSyncAt, type Payment } from './payment-intent.ts';
import { findPayment, markCharged, markPaidLate, noteSync, raiseRefund, writeCancelSaid } from './payment-store.ts';
import { receivePayment } from './receive-payment.ts';
import { saveMethod } from '../saved-methods/saved-methods.ts';
import { findSubscription } from '../subscriptions/subscription-store.ts';
import { takeBackCredit } from './take-back-credit.ts';

const REASON_LENGTH_MAX = 500;
/** The vendor waits for a confirmation, which the job gives within half a day (its ten tries), or never. */
const UNCONFIRMED_DAYS_MAX = 1;
/** Nobody knows what became of the charge: the plugin is not active, or the vendor speaks of something else. Time to put that right. */
const UNKNOWN_DAYS_MAX = 7;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** A vendor that has just taken a charge may not find it for a moment. After this time, and said again, it is believed. */
const CANCEL_CONFIRMED_MS = 60 * 60 * 1_000;

/** An answer comes from a plugin: nobody has looked at it yet. */
const vendorIntentShape = z.object({
  intentUid: z.string().nullable(),
  reference: z.string().min(1).max(255),
  status: z.enum(['PENDING', 'REQUIRES_ACTION', 'SUCCEEDED', 'FAILED', 'CANCELLED']),
  isProcessing: z.boolean().default(false),
  amountMinor: z.bigint(),
  currencyCode: z.string(),
  refundedMinor: z.bigint().min(0n).default(0n),
  reason: z
    .string()
    .transform((text) => text.slice(0, REASON_LENGTH_MAX))
    .nullable()
    .default(null),
  isPermanent: z.boolean().default(false),
  savedMethod: z.unknown().optional(),
  remoteSubscriptionId: z.string().min(1).max(255).optional(),
});

/** Throws when a plugin answers something else. A saved method that is wrong does not make the payment wrong: it is left out, and logged. */
export function readVendorIntent({ log }: Pick<Context, 'log'>, answered: unknown): VendorIntent {
  const { savedMethod, remoteSubscriptionId, ...known } = vendorIntentShape.parse(answered);
  const rest = { ...known, ...(remoteSubscriptionId !== undefined && { remoteSubscriptionId }) };
  if (savedMethod === undefined) return rest;
  const read = methodData.safeParse(savedMethod);
  if (read.success) return { ...rest, savedMethod: read.data };
  const message = 'The plugin answered a payment method that is no record of short texts: it is not saved.';
  log.error('billing.method_invalid', { reference: rest.reference, message });
  return rest;
}

/** Moves the intent as it is under the customer's lock, and uses its money once. What does not fit changes nothing and is noted. */
export async function applyVendorState(work: BillingWork, key: Payment, vendor: VendorIntent): Promise<void> {
  const intent = await findPayment(work.ctx.db, key);
  if (!intent) return;
  const mismatch = mismatchOf(intent, vendor);
  if (mismatch !== undefined) {
    work.ctx.log.error('billing.payment_mismatch', { payment: intent.uid, message: mismatch });
    return noteUnknown(work, intent, mismatch);
  }
  const refunded = await noteRefund(work, intent, vendor);
  if (vendor.status === 'SUCCEEDED') await applyPaid(work, refunded);
  else await applyUnpaid(work, intent, vendor);
  // Whatever is wrong with the method, the payment is written by now.
  if (vendor.savedMethod) await saveMethod(work, intent, vendor.savedMethod);
  await note(work, intent, null);
}

/** The vendor's state could not be read, or is not this intent's: `error` says why. A charge of which nobody knows anything ends after a week. */
export async function noteUnknown(work: BillingWork, key: Payment, error: string): Promise<void> {
  const intent = await findPayment(work.ctx.db, key);
  if (!intent) return;
  if (isStuck(work, intent, UNKNOWN_DAYS_MAX)) await cancelStuck(work, intent);
  await note(work, intent, error);
}

/** The vendor has no such object, as after a change of the gateway's keys. Nothing can be paid there then, so that another try may begin. */
export async function noteGone(work: BillingWork, key: Payment): Promise<void> {
  const intent = await findPayment(work.ctx.db, key);
  if (!intent) return;
  const reason = 'The vendor does not know this payment.';
  if (isCharging(intent)) return noteUnknown(work, intent, reason);
  if (isOpen(intent)) await moveIntent(work, intent, { to: 'CANCELLED', reason });
  await note(work, intent, reason);
}

/** The vendor refuses the payment. Nothing changes when it is closed already. */
export async function failPayment(
  work: BillingWork,
  intent: Payment,
  { reason, isPermanent }: { readonly reason: string; readonly isPermanent: boolean },
): Promise<void> {
  await applyOther(work, intent, { to: 'FAILED', reason: reason.slice(0, REASON_LENGTH_MAX), isPermanent });
}

async function applyUnpaid(work: BillingWork, intent: Payment, vendor: VendorIntent): Promise<void> {
  const { status, reason = null, isProcessing = false, isPermanent = false } = vendor;
  if (!isOpen(intent) || status === 'SUCCEEDED') return;
  if (!(await isBelieved(work, intent, status))) return;
  const waits = status === 'PENDING' && !isProcessing;
  if (waits && isStuck(work, intent, UNCONFIRMED_DAYS_MAX)) return followCharge(work, await cancelStuck(work, intent));
  if (status !== intent.status) await applyOther(work, intent, { to: status, reason, isPermanent });
  if (status === 'PENDING' && isProcessing) await markCharged(work.ctx.db, intent, work.at);
}

/** That a charge is cancelled is believed when the vendor says so twice, an hour apart: the next try would charge a second time. */
async function isBelieved({ ctx, at }: BillingWork, intent: Payment, status: VendorIntent['status']): Promise<boolean> {
  const { chargedAt, cancelSaidAt } = intent;
  if (chargedAt === null) return true;
  if (status !== 'CANCELLED') {
    if (cancelSaidAt !== null) await writeCancelSaid(ctx.db, intent, null);
    return true;
  }
  if (cancelSaidAt === null) await writeCancelSaid(ctx.db, intent, at);
  return cancelSaidAt !== null && at.getTime() - cancelSaidAt.getTime() >= CANCEL_CONFIRMED_MS;
}

/** A charge that the vendor neither makes nor refuses must not keep the subscription for ever. What is paid later is late money. */
function isStuck({ at }: BillingWork, intent: Payment, days: number): boolean {
  if (!isCharging(intent) || intent.chargedAt === null) return false;
  return at.getTime() - intent.chargedAt.getTime() > days * DAY_MS;
}

function cancelStuck(work: BillingWork, intent: Payment): Promise<Payment | undefined> {
  return moveIntent(work, intent, { to: 'CANCELLED', reason: 'The vendor never said whether the charge succeeded.' });
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
  {
    isPermanent,
    ...move
  }: {
    readonly to: 'PENDING' | 'REQUIRES_ACTION' | 'FAILED' | 'CANCELLED';
    readonly reason: string | null;
    readonly isPermanent: boolean;
  },
): Promise<void> {
  const moved = await moveIntent(work, intent, move);
  if (moved && move.to === 'FAILED') await recordOf(work, intent, { event: 'payment_failed', note: move.reason });
  if (move.to !== 'PENDING') await followCharge(work, moved, { isPermanent });
}

/** Money that was paid back is shown to the operator, who decides about the plan; it is no credit any more if it had become some. */
async function noteRefund(
  work: BillingWork,
  intent: Payment,
  { refundedMinor: minor = 0n }: VendorIntent,
): Promise<Payment> {
  if (minor <= intent.refundedMinor || !(await raiseRefund(work.ctx.db, intent, { minor, at: work.at }))) return intent;
  // Of this refund: the vendor says what was paid back in all.
  const refund = minor - intent.refundedMinor;
  const { customerId, invoiceId: id } = intent;
  const invoice = await findInvoice(work.ctx.db, { customerId, id });
  const words = invoice ? await takeBackCredit(work, intent, { refund, invoice }) : null;
  await recordOf(work, intent, { event: 'payment_refunded', note: words, minor: refund });
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

/** The next reading is that of the state in which the intent is by now. */
async function note({ ctx, at }: BillingWork, key: Payment, error: string | null): Promise<void> {
  const intent = (await findPayment(ctx.db, key)) ?? key;
  await noteSync(ctx.db, intent, { at, nextSyncAt: nextSyncAt(intent, at), error });
}
