/** Makes an automation of a list, with a draft that has no effect yet. */
import { z } from 'zod';
import { newUid } from '../../lib/ids.ts';
import { parseInput, singleLine } from '../../lib/text.ts';
import { lockOwnedList } from '../audience/find-owned-list.ts';
import { requireWithinLimit } from '../billing/plans/require-within-limit.ts';
import { inTransaction, type Context } from '../context.ts';
import { tooManyAutomations } from './automation-errors.ts';
import { countAutomations, insertAutomation } from './automation-store.ts';
import { AUTOMATION_NAME_MAX, AUTOMATIONS_MAX } from './automation.ts';
import { checkedDraft } from './flow/checked-draft.ts';

export const createAutomationInput = z.object({ listUid: z.string().min(1), name: singleLine(AUTOMATION_NAME_MAX) });

export interface CreateAutomationInput {
  readonly listUid: string;
  readonly name: string;
  /** Any JSON; absent: an empty flow. */
  readonly flow?: unknown;
}

/** Returns the uid. Throws ValidationError (also `PLAN_LIMIT_REACHED`, `TOO_MANY_AUTOMATIONS`), `LIST_NOT_FOUND`. */
export async function createAutomation(ctx: Context, input: CreateAutomationInput): Promise<{ uid: string }> {
  const { name } = parseInput(createAutomationInput, { listUid: input.listUid, name: input.name });
  const draft = checkedDraft(input.flow ?? {});
  return inTransaction(ctx, async (tx) => {
    const { customerId, id: listId } = await lockOwnedList(tx, input.listUid);
    await requireWithinLimit(tx.tx, { customerId, limit: 'automation_max', field: 'name' });
    if ((await countAutomations(tx.db, customerId)) >= AUTOMATIONS_MAX) throw tooManyAutomations(AUTOMATIONS_MAX);
    const uid = newUid();
    await insertAutomation(tx.db, { customerId, listId, uid, name, draft });
    return { uid };
  });
}
