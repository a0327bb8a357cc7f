/** Whether a customer may verify people now, and by which server. */
import type { Queryable } from '../../db/database.ts';
import { withoutRunningPlan } from '../billing/plans/allowance-errors.ts';
import { allowanceOf, mayPrepare } from '../billing/plans/allowance.ts';
import { usableVerificationServer } from './usable-server-read-model.ts';
import { noUsableServer } from './verification-errors.ts';
import type { VerificationServer } from './verification-server.ts';

/**
 * The server with this uid, or the first of the customer. Throws ValidationError `NO_VERIFICATION_SERVER` on `verificationServer`,
 * WrongStateError `SUBSCRIPTION_ENDED` or `SUBSCRIPTION_REQUIRED` (D55).
 */
export async function requireVerifier(
  db: Queryable,
  { customerId, uid }: { readonly customerId: bigint; readonly uid: string | null },
): Promise<VerificationServer> {
  const allowance = await allowanceOf(db, customerId);
  if (!mayPrepare(allowance)) throw withoutRunningPlan(allowance.source);
  const server = await usableVerificationServer(db, { customerId, uid });
  if (!server) throw noUsableServer(uid !== null);
  return server;
}
