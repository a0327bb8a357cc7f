/** What an administrator changes of a customer, its sending quota and other options of its present subscription included. */
import { InputFaults } from '../../../lib/input-faults.ts';
import { updateCustomer, type UpdateCustomerInput } from '../../accounts/update-customer.ts';
import { inTransaction, type Context } from '../../context.ts';
import { updateCustomerSubscription } from './update-subscription.ts';

export interface ChangeCustomerInput extends UpdateCustomerInput {
  /** Messages in a window of the plan's length (`sending_quota`); -1: unlimited; null: as the plan says. */
  readonly quota?: number | null | undefined;
  /** Options of the present subscription by name; null: as the plan says. */
  readonly options?: Readonly<Record<string, unknown>> | null | undefined;
}

/**
 * Changes the given values together. Throws what `updateCustomer` and `updateCustomerSubscription` throw.
 */
export async function changeCustomer(
  ctx: Context,
  { quota, options, ...input }: ChangeCustomerInput,
): Promise<{ id: bigint; uid: string }> {
  const overrides = { ...options, ...(quota === undefined ? {} : { sending_quota: quota }) };
  if (Object.keys(overrides).length === 0) return updateCustomer(ctx, input);
  return inTransaction(ctx, async (inner) => {
    const faults = new InputFaults();
    // First, because it locks the customer before anything of it is written.
    await faults.gather(() => updateCustomerSubscription(inner, { customerUid: input.uid, options: overrides }));
    const changed = await faults.gather(() => updateCustomer(inner, input));
    faults.check();
    if (!changed) throw new Error('A change without faults has no result.');
    return changed;
  });
}
