/**
 * The scheduled work on declined renewals: saved methods are charged again when their time has come. Each try is another intent with keys of
 * its own. An invoice's time is taken from it under the customer's lock, so a run that is killed or comes twice charges nobody twice.
 */
import { messageOf } from '../../../lib/errors.ts';
import { installationHold, mayBeDoneElsewhere } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { workOnCustomer, type BillingWork } from '../billing-work.ts';
import { chargeSavedMethod } from './charge-saved-method.ts';
import { dueCharges, takeDueCharge, writeNextCharge } from './charge-time-store.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { methodsOf } from './payment-method-store.ts';
import { findOpenPayment } from '../payments/payment-store.ts';

const DUE_AT_ONCE_MAX = 100;
/** For what cannot be tried now: a checkout that the customer has open, a gateway that is inactive. */
const POSTPONED_MS = 60 * 60 * 1_000;

/** Begins every try that is due; returns how many were begun and how many failed (logged). None while the installation is on hold. */
export async function retryCharges(ctx: Context): Promise<{ begun: number; failed: number }> {
  const counts = { begun: 0, failed: 0 };
  if (await installationHold(ctx.db)) return counts;
  const at = ctx.clock.now();
  let after = 0n;
  for (;;) {
    const due = await dueCharges(ctx.db, { at, after, max: DUE_AT_ONCE_MAX });
    for (const key of due) {
      try {
        if (await workOnCustomer({ ...ctx, viewer: null }, key.customerId, (work) => retry(work, key)))
          counts.begun += 1;
      } catch (error) {
        // One that fails must not stop the others.
        counts.failed += 1;
        ctx.log.error('billing.retry_failed', { invoice: String(key.id), message: messageOf(error) });
      }
    }
    const last = due.at(-1);
    if (!last || due.length < DUE_AT_ONCE_MAX) break;
    after = last.id;
  }
  if (counts.begun + counts.failed > 0) ctx.log.info('billing.charges_retried', counts);
  return counts;
}

/** Whether a try was begun. One that must wait comes back in an hour, until the days of grace end. */
async function retry(work: BillingWork, key: Pick<Invoice, 'customerId' | 'id'>): Promise<boolean> {
  const { ctx, at, customer } = work;
  const invoice = await takeDueCharge(ctx.db, key, at);
  if (!invoice) return false;
  // In a released copy the original may have made this try, with success.
  if (await mayBeDoneElsewhere(ctx.db, invoice.periodStartsAt ?? invoice.createdAt)) return false;
  const isWaiting = customer.status !== 'active' || (await findOpenPayment(ctx.db, invoice)) !== undefined;
  if (!isWaiting && (await chargeSavedMethod(work, invoice))) return true;
  const later = new Date(at.getTime() + POSTPONED_MS);
  const hasMethod = (await methodsOf(ctx.db, invoice.customerId)).length > 0;
  if (hasMethod && invoice.dueAt !== null && later < invoice.dueAt) await writeNextCharge(ctx.db, invoice, later);
  return false;
}
