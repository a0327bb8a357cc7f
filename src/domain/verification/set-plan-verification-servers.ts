/** Which of the system's verification servers the customers of a plan may use, when the plan does not give all of them. */
import { z } from 'zod';
import { isUid } from '../../lib/ids.ts';
import { parseInput, singleLine } from '../../lib/text.ts';
import { planNotFound } from '../billing/billing-errors.ts';
import { requireAdministrator } from '../billing/billing-rights.ts';
import { findPlan, writePlanVerificationServers } from '../billing/plans/plan-store.ts';
import { inTransaction, type Context } from '../context.ts';
import { systemVerificationServersAmong } from './usable-server-read-model.ts';
import { foreignVerificationServer, verificationServerNotFound } from './verification-server-errors.ts';
import { verificationServerExists } from './verification-server-store.ts';
import { VERIFICATION_SERVERS_PER_CUSTOMER_MAX } from './verification-server.ts';

const UID_LENGTH_MAX = 64;

export const planVerificationServersInput = z.object({
  servers: z
    .array(singleLine(UID_LENGTH_MAX))
    .max(VERIFICATION_SERVERS_PER_CUSTOMER_MAX)
    .nullish()
    .transform((uids) => [...new Set(uids)]),
});

/** Sets the choice; none or null: no server. Throws VERIFICATION_SERVER_NOT_FOUND, the foreign error of the same code, PLAN_NOT_FOUND. */
export async function setPlanVerificationServers(
  ctx: Context,
  { planUid, ...input }: { planUid: string; servers?: readonly string[] | null | undefined },
): Promise<{ id: bigint }> {
  requireAdministrator(ctx);
  const { servers } = parseInput(planVerificationServersInput, input);
  return inTransaction(ctx, async ({ db }) => {
    const plan = await findPlan(db, planUid, 'change');
    if (!plan) throw planNotFound();
    const known = await systemVerificationServersAmong(db, servers);
    const unknown = servers.find((uid) => !known.has(uid));
    if (unknown !== undefined)
      throw isUid(unknown) && (await verificationServerExists(db, unknown))
        ? foreignVerificationServer()
        : verificationServerNotFound();
    await writePlanVerificationServers(db, plan, servers);
    return plan;
  });
}
