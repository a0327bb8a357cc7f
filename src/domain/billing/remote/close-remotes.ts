/** Before a customer or a payment gateway is deleted: no vendor may go on taking money for what nobody here knows any more. */
import type { Context } from '../../context.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { Payment } from '../payments/payment-intent.ts';
import { applyFound } from './apply-found-remote.ts';
import { walkRemotes } from './walk-remotes.ts';

/**
 * Looks through the vendor's list for what these payments of one gateway have begun there, and writes it: then it can be cancelled. Throws when
 * the vendor cannot be asked.
 */
export async function showUnshown(ctx: Context, payments: readonly Payment[]): Promise<void> {
  const [first] = payments;
  if (!first) return;
  const open = await gatewayOf(ctx, first);
  if (!open?.can('getRemoteSubscriptions')) throw new Error('The plugin of its payment gateway is not active.');
  const waiting = new Map(payments.map((payment) => [payment.uid, payment]));
  for await (const remote of walkRemotes(ctx, open)) {
    const payment = remote.intentUid === null ? undefined : waiting.get(remote.intentUid);
    if (payment) await applyFound(ctx, open, { payment, remote });
  }
}
