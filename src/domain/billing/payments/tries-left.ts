/** How often paying one invoice may be begun, and how soon after a decline. */
import type { Queryable } from '../../../db/database.ts';
import { justDeclined, tooManyPayments } from '../billing-errors.ts';
import type { Context } from '../../context.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { countPayments, lastDeclineOf } from './payment-store.ts';

/** Each try is kept; nobody needs more for one invoice. */
const PAYMENTS_PER_INVOICE_MAX = 50;
/** Card networks charge for each decline, and a bank that has declined says the same again at once. */
const DECLINE_PAUSE_SECONDS = 10 * 60;

/** Throws WrongStateError `TOO_MANY_PAYMENTS`. */
export async function requireTriesLeft(db: Queryable, invoice: Invoice): Promise<void> {
  if ((await countPayments(db, invoice)) >= PAYMENTS_PER_INVOICE_MAX) throw tooManyPayments(PAYMENTS_PER_INVOICE_MAX);
}

/** A saved method that was declined a moment ago is not charged again at once. Throws RateLimitedError `PAYMENT_JUST_DECLINED`. */
export async function requireNoFreshDecline({ db, clock }: Context, invoice: Invoice): Promise<void> {
  const declinedAt = await lastDeclineOf(db, invoice);
  if (!declinedAt) return;
  const left = DECLINE_PAUSE_SECONDS - Math.floor((clock.now().getTime() - declinedAt.getTime()) / 1_000);
  if (left > 0) throw justDeclined(left);
}
