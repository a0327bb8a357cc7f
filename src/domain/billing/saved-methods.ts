/** Payment methods that customers have saved with a gateway: what a later charge needs, encrypted. */
import { createHash } from 'node:crypto';
import { PluginFailedError } from '../../lib/errors.ts';
import { newUid } from '../../lib/ids.ts';
import type { PaymentGatewayService, PaymentMethodData } from '../../plugin-api/index.ts';
import type { BillingWork } from './billing-work.ts';
import { sealMethod } from './gateways/gateway-secrets.ts';
import { gatewayOf } from './gateways/gateway-of.ts';
import type { OpenGateway } from './gateways/open-gateway.ts';
import { insertMethod } from './payment-method-store.ts';
import type { Payment } from './payment-intent.ts';

const TEXT_LENGTH_MAX = 100;

/** Keeps the method that was used for a payment; the same one is kept once. */
export async function saveMethod(work: BillingWork, payment: Payment, data: PaymentMethodData): Promise<void> {
  const { ctx, at } = work;
  const open = await gatewayOf(ctx, payment);
  if (!open) return;
  const uid = newUid();
  const entries = Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1));
  await insertMethod(ctx.db, {
    ...{ customerId: payment.customerId, uid, at, gatewayId: open.gateway.id },
    title: wordsOf(open, (service) => service.getMethodTitle(data)),
    info: wordsOf(open, (service) => service.getMethodInfo(data)),
    sealedData: sealMethod(ctx.installation.secret, uid, data),
    digest: createHash('sha256').update(JSON.stringify(entries)).digest('hex'),
  });
}

/** A plugin that fails to name the method must not stop the payment. */
function wordsOf(open: OpenGateway, ask: (service: PaymentGatewayService) => string): string {
  try {
    return open.ask(ask).slice(0, TEXT_LENGTH_MAX);
  } catch (error) {
    if (error instanceof PluginFailedError) return open.gateway.name.slice(0, TEXT_LENGTH_MAX);
    throw error;
  }
}
