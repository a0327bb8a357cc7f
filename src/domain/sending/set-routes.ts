/** The servers of mail by weight, and its speed: a customer's own choice, and an administrator's for others. */
import { z } from 'zod';
import { parseInput } from '../../lib/text.ts';
import { readSendingServers, writeSendingServers, writeSendsPerHour } from '../accounts/customer-store.ts';
import { knownCustomer } from '../accounts/known-customer.ts';
import { planNotFound } from '../billing/billing-errors.ts';
import { requireAdministrator } from '../billing/billing-rights.ts';
import { findPlan, writePlanServers } from '../billing/plans/plan-store.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import {
  checkedRoutes,
  checkedSystemRoutes,
  parseRoutes,
  sendingRoutes,
  type SendingRoute,
  type SendingRoutesInput,
} from './routing/routes.ts';

export const routesInput = z.object({ servers: sendingRoutes.nullish().transform((servers) => servers ?? null) });

/** The viewer's own choice; empty: as its plan says. */
export async function readSendingRoutes(ctx: Context): Promise<readonly SendingRoute[]> {
  const { customerId } = viewerOf(ctx);
  return parseRoutes(await readSendingServers(ctx.db, customerId));
}

/**
 * Sets the viewer's own choice; none or null: as the plan says. Throws ValidationError, SENDING_SERVER_NOT_FOUND and the foreign
 * error of the same code.
 */
export async function setSendingRoutes(
  ctx: Context,
  input: { servers?: SendingRoutesInput | null | undefined },
): Promise<readonly SendingRoute[]> {
  const { customerId } = viewerOf(ctx);
  const { servers } = parseInput(routesInput, input);
  return inTransaction(ctx, async ({ db }) => {
    const routes = await checkedRoutes(db, customerId, servers);
    await writeSendingServers(db, customerId, routes);
    return routes ?? [];
  });
}

/** Sets which system servers a plan's customers use. Throws as above, and PLAN_NOT_FOUND. */
export async function setPlanRoutes(
  ctx: Context,
  { planUid, ...input }: { planUid: string; servers?: SendingRoutesInput | null | undefined },
): Promise<{ id: bigint }> {
  requireAdministrator(ctx);
  const { servers } = parseInput(routesInput, input);
  return inTransaction(ctx, async ({ db }) => {
    const plan = await findPlan(db, planUid, 'change');
    if (!plan) throw planNotFound();
    const routes = await checkedSystemRoutes(db, servers);
    await writePlanServers(db, plan, routes);
    return plan;
  });
}

export const paceInput = z.object({ sendsPerHour: z.int().min(1).max(100_000_000).nullable() });

/** Sets how many messages an hour a customer's campaigns send together; null: as its plan says. Throws CUSTOMER_NOT_FOUND. */
export async function setCustomerPace(
  ctx: Context,
  { customerUid, ...input }: { customerUid: string; sendsPerHour: number | null },
): Promise<{ id: bigint }> {
  requireAdministrator(ctx);
  const { sendsPerHour } = parseInput(paceInput, input);
  const { id } = await knownCustomer(ctx, customerUid);
  await writeSendsPerHour(ctx.db, id, sendsPerHour);
  return { id };
}
