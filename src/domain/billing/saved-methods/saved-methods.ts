/** Payment methods that customers have saved with a gateway: what a later charge needs, encrypted. */
import { z } from 'zod';
import { messageOf, PluginFailedError } from '../../../lib/errors.ts';
import { newUid } from '../../../lib/ids.ts';
import type { PaymentGatewayService, PaymentMethodData } from '../../../plugin-api/index.ts';
import type { BillingWork } from '../billing-work.ts';
import { sealMethod, unsealMethod } from '../gateways/gateway-secrets.ts';
import { openGateway, type OpenGateway } from '../gateways/open-gateway.ts';
import { allGateways } from '../gateways/payment-gateway-store.ts';
import type { StoredGateway } from '../gateways/payment-gateway.ts';
import { chargeDeclinedAt } from './charge-time-store.ts';
import { digestOf, methodDigest } from './method-digest.ts';
import { findKnown, insertMethod, updateMethod, writeDigest, type KnownMethod } from './payment-method-store.ts';
import type { Payment } from '../payments/payment-intent.ts';

const TEXT_LENGTH_MAX = 100;

/**
 * Keeps the method that was used for a payment. The same one is kept once, and what has changed of it is taken over, as after a new expiry date: then
 * what it was declined for is charged again. A plugin that fails meanwhile must not stop the payment.
 */
export async function saveMethod(work: BillingWork, payment: Payment, data: PaymentMethodData): Promise<void> {
  const { ctx, at } = work;
  const gateway = (await allGateways(ctx.db)).find(({ id }) => id === payment.gatewayId);
  // One that is being deleted keeps nothing any more.
  const open = gateway?.deletingAt === null ? opened(work, gateway) : undefined;
  if (!open) return;
  const { customerId } = payment;
  const digest = recognised(work, open, data);
  const known = await findKnown(ctx.db, { customerId, gatewayId: open.gateway.id, digest, former: digestOf(data) });
  const uid = known?.uid ?? newUid();
  const method = {
    ...{ customerId, uid, at, gatewayId: open.gateway.id, digest },
    title: wordsOf(open, (service) => service.getMethodTitle(data)),
    info: wordsOf(open, (service) => service.getMethodInfo(data)),
    sealedData: sealMethod(ctx.installation.secret, uid, data),
  };
  if (!known) await insertMethod(ctx.db, method);
  else if (!isChanged(work, known, data)) return writeDigest(ctx.db, known, digest);
  else await updateMethod(ctx.db, { ...method, id: known.id });
  await chargeDeclinedAt(ctx.db, customerId, at);
}

/** One that was removed stays as it is. */
function isChanged({ ctx }: BillingWork, known: KnownMethod, data: PaymentMethodData): boolean {
  if (known.isRemoved) return false;
  return digestOf(unsealMethod(ctx.installation.secret, known.uid, known.sealedData)) !== digestOf(data);
}

function recognised({ ctx }: BillingWork, open: OpenGateway, data: PaymentMethodData): string {
  try {
    return methodDigest(open, data);
  } catch (error) {
    if (!(error instanceof PluginFailedError)) throw error;
    ctx.log.error('billing.method_not_recognised', { gateway: open.gateway.uid, message: messageOf(error) });
    return digestOf(data);
  }
}

function opened({ ctx }: BillingWork, gateway: StoredGateway): OpenGateway | undefined {
  try {
    return openGateway(ctx, gateway);
  } catch (error) {
    if (!(error instanceof PluginFailedError)) throw error;
    ctx.log.error('billing.method_not_saved', { gateway: gateway.uid, message: messageOf(error) });
    return undefined;
  }
}

/** The plugin's words, or the name of the gateway when it has none that are a text. */
function wordsOf(open: OpenGateway, ask: (service: PaymentGatewayService) => string): string {
  try {
    const words = z.string().safeParse(open.ask(ask));
    return (words.success ? words.data : open.gateway.name).replaceAll('\0', '').slice(0, TEXT_LENGTH_MAX);
  } catch (error) {
    if (error instanceof PluginFailedError) return open.gateway.name.slice(0, TEXT_LENGTH_MAX);
    throw error;
  }
}
