/** The limits of people, for one person who is to be added to several lists at once. */
import type { Transaction } from '../../../db/database.ts';
import { allowanceOf, limitOf, maySend } from './allowance.ts';
import { countPeople, lockUsage } from './usage-store.ts';

/**
 * Of these lists, in their order, those that may each get one more person. The caller has locked the counters of the lists
 * (`remainingSubscribers`). None without a running plan: who joins gets a confirmation mail.
 */
export async function listsNotFull(
  tx: Transaction,
  { customerId, listIds }: { readonly customerId: bigint; readonly listIds: readonly bigint[] },
): Promise<readonly bigint[]> {
  const allowance = await allowanceOf(tx, customerId);
  if (!maySend(allowance)) return [];
  const perListMax = limitOf(allowance, 'subscriber_per_list_max') ?? Infinity;
  const max = limitOf(allowance, 'subscriber_max') ?? Infinity;
  if (max !== Infinity) await lockUsage(tx, { customerId, limit: 'subscriber_max' });
  const { everywhere, byList } = await countPeople(tx, customerId, listIds);
  return listIds.filter((id) => (byList.get(id) ?? 0) < perListMax).slice(0, Math.max(0, max - everywhere));
}
