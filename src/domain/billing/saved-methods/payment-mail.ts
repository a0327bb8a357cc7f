/** The mails about a charge of a saved method that brought no money: why, when the next try is, and how to pay now. */
import type { Context } from '../../context.ts';
import { checkoutUrl } from '../invoices/checkout-link.ts';
import { readableMoney } from '../money.ts';
import { findTriedCharge, peopleOfCustomer, type TriedCharge } from './payment-mail-read-model.ts';

export interface PaymentMail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
}

/** More users rarely manage one customer's plan. */
const PEOPLE_MAX = 10;

/**
 * The mails, one for each user; none when there is nothing to pay any more, when another payment was begun meanwhile, or when the customer is
 * disabled. One charge leads to one mail for each state in which it stays.
 */
export async function paymentMail(
  { db, installation, clock }: Context,
  { customerId, intentUid }: { customerId: bigint; intentUid: string },
): Promise<PaymentMail[]> {
  const charge = await findTriedCharge(db, { customerId, uid: intentUid });
  if (!charge || charge.invoiceStatus !== 'pending' || charge.isOutdated || charge.customerStatus !== 'active')
    return [];
  const words = charge.status === 'REQUIRES_ACTION' ? toConfirm(charge) : ended(charge);
  if (!words) return [];
  const page = checkoutUrl(installation, charge.invoiceUid, clock.now());
  const paragraphs = [...words.paragraphs, `Pay now: ${page}`, ...deadline(charge)];
  return (await peopleOfCustomer(db, customerId, PEOPLE_MAX)).map((to) => ({
    ...{ to, subject: words.subject, paragraphs },
  }));
}

type Words = Pick<PaymentMail, 'subject' | 'paragraphs'>;

function toConfirm(charge: TriedCharge): Words {
  return {
    subject: `Your bank asks you to confirm the payment of ${charge.planName}`,
    paragraphs: [
      `We could not charge ${amountOf(charge)} to ${methodOf(charge)} for ${charge.planName}: the bank wants you to confirm the payment.`,
      'We do not try again by ourselves. Please pay on the page of the invoice, where the bank can ask you.',
    ],
  };
}

function ended(charge: TriedCharge): Words | undefined {
  if (charge.status !== 'FAILED' && charge.status !== 'CANCELLED') return undefined;
  const next = charge.nextChargeAt;
  return {
    subject: `Your payment of ${charge.planName} was not successful`,
    paragraphs: [
      `We could not charge ${amountOf(charge)} to ${methodOf(charge)} for ${charge.planName}.`,
      ...(charge.reason === null ? [] : [`The reason: ${charge.reason}`]),
      next === null
        ? 'We do not try again by ourselves.'
        : `We try again on ${timeOf(next)}. You do not need to do anything if the payment can succeed then.`,
    ],
  };
}

/** Nothing is stopped before that. */
function deadline({ dueAt }: TriedCharge): string[] {
  return dueAt === null ? [] : [`If the invoice is not paid by ${timeOf(dueAt)}, the plan ends.`];
}

function amountOf({ amountMinor: minor, currencyCode }: TriedCharge): string {
  return readableMoney({ minor, currencyCode });
}

function methodOf({ methodTitle, methodInfo }: TriedCharge): string {
  if (methodTitle === null) return 'your saved payment method';
  return methodInfo ? `${methodTitle} (${methodInfo})` : methodTitle;
}

/** `2026-04-02, 10:00 UTC`. */
function timeOf(at: Date): string {
  return `${at.toISOString().slice(0, 10)}, ${at.toISOString().slice(11, 16)} UTC`;
}
