/** The job that makes a cancelled payment unpayable at its vendor, and reads what the vendor says about it then. */
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { Context } from '../../context.ts';
import { onHold } from '../billing-errors.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { intentForGateway } from './intent-for-gateway.ts';
import { findPaymentByUid } from './payment-store.ts';
import { syncPayment } from './sync-payments.ts';

/** Rejects when the vendor cannot be asked: the queue tries again. An intent that is not cancelled is not changed. */
export async function cancelIntent(ctx: Context, { intentUid }: { intentUid: string }): Promise<void> {
  const payment = await findPaymentByUid(ctx.db, intentUid);
  if (payment?.status !== 'CANCELLED') return;
  // In a restored copy the vendor's object is the original's.
  if (await installationHold(ctx.db)) throw onHold();
  const open = await gatewayOf(ctx, payment);
  const intent = await intentForGateway(ctx, payment);
  if (open?.can('cancelIntent')) await open.call(async (service) => service.cancelIntent?.(intent));
  await syncPayment(ctx, payment);
}
