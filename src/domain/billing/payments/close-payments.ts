/** A customer is deleted: what it could still pay is made unpayable at the vendors, and its saved payment methods are removed there. */
import { messageOf } from '../../../lib/errors.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { onHold } from '../billing-errors.ts';
import { workOnCustomer } from '../billing-work.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import { intentForGateway } from './intent-for-gateway.ts';
import { deleteMethod, methodsAtVendors } from '../saved-methods/payment-method-store.ts';
import { removeAtVendor } from '../saved-methods/remove-method.ts';
import { moveIntent } from './move-intent.ts';
import type { Payment } from './payment-intent.ts';
import { isOpen } from './payment-intent.ts';
import { payableGatewayPayments, unshownPayments } from './payment-store.ts';
import { cancelAtVendor as cancelRemoteAtVendor } from '../remote/cancel-remote.ts';
import { showUnshown } from '../remote/close-remotes.ts';
import { liveRemotes } from '../remote/remote-subscription-store.ts';
import { syncPayment } from './sync-payments.ts';

/**
 * Closes everything of the customer at the vendors; repeating it is harmless. Throws when a vendor cannot be asked, so that the job tries
 * again; with `isLastTry` the log names what is left there, and the customer is erased nevertheless.
 */
export async function closePayments(
  ctx: Context,
  { customerId, isLastTry }: { customerId: bigint; isLastTry: boolean },
): Promise<void> {
  // In a restored copy they belong to the original: it waits for the end of the hold.
  const isHeld = (await installationHold(ctx.db)) !== undefined;
  if (isHeld && !isLastTry) throw onHold();
  const left: string[] = [];
  const attempt = async (name: string, act: () => Promise<void>) => {
    try {
      await act();
    } catch (error) {
      left.push(`${name}: ${messageOf(error)}`);
    }
  };
  const payments = await payableGatewayPayments(ctx.db, customerId);
  // First here, so that no job charges and no page begins one of them while the vendors are asked.
  await workOnCustomer(ctx, customerId, async (work) => {
    for (const payment of payments)
      if (isOpen(payment)) await moveIntent(work, payment, { to: 'CANCELLED', reason: 'The customer was deleted.' });
  });
  for (const payment of payments)
    if (payment.reference !== null && !isHeld)
      await attempt(`payment ${payment.reference}`, () => cancelAtVendor(ctx, payment));
  for (const payment of isHeld ? [] : await unshownPayments(ctx.db, { customerId }))
    await attempt(`subscription of the payment ${payment.uid}`, () => showUnshown(ctx, [payment]));
  for (const remote of isHeld ? [] : await liveRemotes(ctx.db, { customerId }))
    await attempt(`subscription ${remote.remoteId}`, () => cancelRemoteAtVendor(ctx, remote));
  for (const method of isHeld ? [] : await methodsAtVendors(ctx.db, customerId))
    await attempt(`payment method ${method.uid}`, async () => {
      await removeAtVendor(ctx, method);
      await deleteMethod(ctx.db, method);
    });
  if (left.length === 0) return;
  ctx.log.error('billing.not_closed', { customer: String(customerId), left, isLastTry });
  if (!isLastTry) throw new Error(`Not everything of the customer is closed at the vendors: ${left.join('; ')}`);
}

async function cancelAtVendor(ctx: Context, payment: Payment): Promise<void> {
  const open = await activeGateway(ctx, payment);
  const intent = await intentForGateway(ctx, payment);
  if (open.can('cancelIntent')) await open.call(async (service) => service.cancelIntent?.(intent));
  // It may have been paid before: then the vendor keeps a subscription that is not known here yet.
  if (payment.remotePlanId !== null && !(await syncPayment(ctx, payment))) throw notSaid();
}

export const notSaid = () => new Error('Its vendor did not say whether it was paid.');

async function activeGateway(ctx: Context, of: { readonly gatewayId: bigint | null }): Promise<OpenGateway> {
  const open = await gatewayOf(ctx, of);
  if (!open) throw new Error('The plugin of its payment gateway is not active.');
  return open;
}
