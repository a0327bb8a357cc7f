/** Ends a try to pay an invoice, because the invoice is withdrawn or another way to pay it was chosen. */
import { paymentAwaitsApproval, paymentInProgress } from '../billing-errors.ts';
import type { BillingWork } from '../billing-work.ts';
import { moveIntent } from './move-intent.ts';
import { isOpen, type Payment } from './payment-intent.ts';

/** Whether the money may be moving right now, of a saved method or of a bank debit: nothing may take the place of such a try. */
export function isCharging({ status, chargedAt }: Payment): boolean {
  return status === 'PENDING' && chargedAt !== null;
}

/**
 * Cancels the open payment. Throws WrongStateError `PAYMENT_AWAITS_APPROVAL` when it was claimed, `PAYMENT_IN_PROGRESS` when the money
 * may be moving, unless `always`: what is paid after that becomes credit.
 */
export async function endOpenTry(
  work: BillingWork,
  open: Payment,
  { reason, always = false }: { readonly reason: string; readonly always?: boolean },
): Promise<void> {
  if (!isOpen(open)) return;
  if (!always && open.status === 'AWAITING_ADMIN_APPROVAL') throw paymentAwaitsApproval();
  if (!always && isCharging(open)) throw paymentInProgress();
  await moveIntent(work, open, { to: 'CANCELLED', reason });
}
