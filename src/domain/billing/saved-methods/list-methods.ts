/** Lists a customer's saved payment methods, and says which of them pays the next renewal. */
import type { Context } from '../../context.ts';
import { customerFor } from '../billing-work.ts';
import { chargedMethod } from './charge-saved-method.ts';
import { shownMethods, type ShownMethod } from './method-read-model.ts';
import { planById } from '../plans/plan-store.ts';
import { findRunning } from '../subscriptions/subscription-store.ts';

/** Nobody has so many cards; the newest are shown. */
export const METHODS_SHOWN_MAX = 100;

/** The newest first; the caller's own, or for an administrator those of any customer. Throws NotFoundError, ForeignResourceError. */
export async function paymentMethods(ctx: Context, customerUid: string | null | undefined): Promise<ShownMethod[]> {
  const customerId = await customerFor(ctx, customerUid);
  const methods = await shownMethods(ctx.db, customerId, METHODS_SHOWN_MAX);
  const usedId = methods.length > 0 ? await usedMethod(ctx, customerId) : undefined;
  return methods.map(({ id, ...shown }) => ({ ...shown, isUsed: id === usedId }));
}

/** Undefined: no renewal is charged by itself. */
async function usedMethod(ctx: Context, customerId: bigint): Promise<bigint | undefined> {
  const subscription = await findRunning(ctx.db, customerId);
  if (!subscription || subscription.status !== 'active' || subscription.disableBilling) return undefined;
  const { id: planId, currencyCode, priceMinor } = await planById(ctx.db, subscription.planId);
  if (priceMinor === 0n) return undefined;
  return (await chargedMethod(ctx, { customerId, planId, currencyCode }))?.method.id;
}
