/** Which own sending servers a plan lets a customer have (decision D29). */
import type { Queryable } from '../../db/database.ts';
import { ValidationError } from '../../lib/errors.ts';
import { notIncluded, withoutRunningPlan } from '../billing/plans/allowance-errors.ts';
import { allowanceOf, mayPrepare } from '../billing/plans/allowance.ts';

/**
 * Whether the customer may have an own server of this type. Throws ForbiddenError `PLAN_DOES_NOT_INCLUDE`,
 * WrongStateError `SUBSCRIPTION_ENDED` or `SUBSCRIPTION_REQUIRED`, ValidationError `PLAN_LIMIT_REACHED` on `type`.
 */
export async function requireOwnServers(db: Queryable, customerId: bigint, type: string): Promise<void> {
  const allowance = await allowanceOf(db, customerId);
  const { source, options } = allowance;
  if (options.sending_server_option !== 'own') throw notIncluded('own sending servers');
  if (!mayPrepare(allowance)) throw withoutRunningPlan(source);
  if (options.all_sending_server_types === 'yes' || options.sending_server_types[type] === 'yes') return;
  const types = Object.entries(options.sending_server_types).flatMap(([name, allowed]) =>
    allowed === 'yes' ? [name] : [],
  );
  const message = `The plan allows own sending servers of these types only: ${types.join(', ') || 'none'}.`;
  throw new ValidationError({ type: [message] }, 'PLAN_LIMIT_REACHED');
}
