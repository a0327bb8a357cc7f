/** The gateway through which a payment is made. */
import type { Context } from '../../context.ts';
import type { Payment } from '../payments/payment-intent.ts';
import { openGateway, type OpenGateway } from './open-gateway.ts';
import { allGateways } from './payment-gateway-store.ts';

/** Undefined: it was deleted, or no active plugin provides it. Throws PluginFailedError. */
export async function gatewayOf(
  ctx: Context,
  { gatewayId }: Pick<Payment, 'gatewayId'>,
): Promise<OpenGateway | undefined> {
  const gateway = (await allGateways(ctx.db)).find(({ id }) => id === gatewayId);
  return gateway && openGateway(ctx, gateway);
}
