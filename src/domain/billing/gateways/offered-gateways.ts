/** Which gateways an invoice may be paid through: active ones that its plan allows and that take its currency. */
import { ValidationError } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { planById } from '../plans/plan-store.ts';
import { findGatewayType, gatewayTypes } from './open-gateway.ts';
import { gatewayNotOffered } from './payment-gateway-errors.ts';
import { allGateways } from './payment-gateway-store.ts';
import type { StoredGateway } from './payment-gateway.ts';

/** In their order; also for the next invoice of a plan, which is not written yet. */
export async function offeredGateways(
  ctx: Context,
  { planId, currencyCode }: Pick<Invoice, 'planId' | 'currencyCode'>,
): Promise<StoredGateway[]> {
  const { options } = await planById(ctx.db, planId);
  return (await allGateways(ctx.db)).filter(
    (gateway) => refusalOf(ctx, gateway, { currencyCode, allowed: options.payment_gateway }) === undefined,
  );
}

/** Throws ValidationError `PAYMENT_GATEWAY_NOT_OFFERED` that says why the gateway cannot be used for this invoice. */
export async function requireOffered(ctx: Context, gateway: StoredGateway, invoice: Invoice): Promise<void> {
  const { options } = await planById(ctx.db, invoice.planId);
  const { currencyCode } = invoice;
  const refusal = refusalOf(ctx, gateway, { currencyCode, allowed: options.payment_gateway });
  if (refusal !== undefined) throw gatewayNotOffered(refusal);
}

/** The names in the plan option `payment_gateway`: types or uids of gateways, with commas between them; none: all are allowed. */
export function allowedNames(option: unknown): readonly string[] {
  return (typeof option === 'string' ? option : '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function refusalOf(
  ctx: Context,
  gateway: StoredGateway,
  { currencyCode, allowed }: { readonly currencyCode: string; readonly allowed: unknown },
): string | undefined {
  if (gateway.status !== 'active') return 'This payment gateway is inactive.';
  const names = allowedNames(allowed);
  if (names.length > 0 && !names.includes(gateway.type) && !names.includes(gateway.uid))
    return 'The plan cannot be paid through this payment gateway.';
  const type = findGatewayType(ctx, gateway.type);
  if (!type) return `No active plugin provides payment gateways of type "${gateway.type}".`;
  if (!type.registration.currencies.includes(currencyCode))
    return `This payment gateway does not take ${currencyCode}.`;
  return undefined;
}

/** Throws ValidationError on `options.payment_gateway` for a name that is neither a type nor the uid of a gateway. */
export async function requireKnownNames(ctx: Context, option: unknown): Promise<void> {
  const stored = await allGateways(ctx.db);
  const types = gatewayTypes(ctx).map(({ registration }) => registration.type);
  const known = new Set([...types, ...stored.flatMap(({ uid, type }) => [uid, type])]);
  const unknown = allowedNames(option).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const message = `There is no payment gateway ${unknown.map((name) => `"${name}"`).join(', ')}. Give types or uids with commas between them: ${[...new Set(types)].join(', ')}; or nothing: all are allowed.`;
  throw new ValidationError({ 'options.payment_gateway': [message] });
}
