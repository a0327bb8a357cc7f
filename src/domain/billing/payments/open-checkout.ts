/** What the route of a gateway's plugin gets from Mailwright: the checkout that a browser has begun, and a place for the vendor's id. */
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import type { OpenedCheckout } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import { workOnCustomer } from '../billing-work.ts';
import { checkoutPath } from '../invoices/checkout-link.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { gatewayData } from '../gateways/gateway-secrets.ts';
import { intentForGateway, intentOfToken } from './intent-for-gateway.ts';
import { isOpen, nextSyncAt, type Payment } from './payment-intent.ts';
import { payerOf } from '../invoices/payer-read-model.ts';
import { findPayment, findPaymentByUid, writeReference } from './payment-store.ts';

/** Longer ids of vendors do not exist. */
const REFERENCE_LENGTH_MAX = 255;

/** Undefined when the plugin may not have it; see the contract. */
export async function openCheckout(ctx: Context, plugin: string, token: string): Promise<OpenedCheckout | undefined> {
  const uid = typeof token === 'string' ? intentOfToken(ctx, token) : undefined;
  const payment = uid === undefined ? undefined : await findPaymentByUid(ctx.db, uid);
  if (!payment || !isOpen(payment) || payment.methodId !== null) return undefined;
  const open = await gatewayOf(ctx, payment);
  if (open?.plugin !== plugin || open.gateway.status !== 'active') return undefined;
  if (await installationHold(ctx.db)) return undefined;
  if ((await payerOf(ctx.db, payment)).customerStatus !== 'active') return undefined;
  const intent = await intentForGateway(ctx, payment);
  const { gateway } = open;
  const returnUrl = checkoutPath(ctx.installation, intent.invoiceUid, ctx.clock.now());
  return Object.freeze({
    intent,
    gateway: {
      ...{ uid: gateway.uid, type: gateway.type, name: gateway.name },
      data: gatewayData(ctx.installation.secret, gateway),
    },
    returnUrl,
    absoluteReturnUrl: `${ctx.installation.baseUrl}${returnUrl}`,
  });
}

/** Commits the vendor's id; false: the browser must not be sent there. Throws an Error with a sentence for a wrong argument. */
export async function saveReference(
  ctx: Context,
  plugin: string,
  { intentUid, reference }: { intentUid: string; reference: string },
): Promise<boolean> {
  if (typeof reference !== 'string' || reference === '' || reference.length > REFERENCE_LENGTH_MAX)
    throw new Error(`The reference must be a text of at most ${REFERENCE_LENGTH_MAX} characters.`);
  const found = await findPaymentByUid(ctx.db, intentUid);
  const open = found && (await gatewayOf(ctx, found));
  if (!found || open?.plugin !== plugin) return false;
  return workOnCustomer(ctx, found.customerId, async ({ ctx: { db }, at }) => {
    const payment: Payment | undefined = await findPayment(db, found);
    const isActive = payment !== undefined && (await payerOf(db, payment)).customerStatus === 'active';
    return isActive
      ? writeReference(db, payment, { reference, nextSyncAt: nextSyncAt({ ...payment, reference }, at) })
      : false;
  });
}
