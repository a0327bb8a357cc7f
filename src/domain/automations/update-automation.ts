/** Changes the name and the draft of an automation. The published version goes on as it is (D84). */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { parseInput, singleLine } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { draftChanged } from './automation-errors.ts';
import { writeAutomation } from './automation-store.ts';
import { AUTOMATION_NAME_MAX } from './automation.ts';
import { checkedDraft } from './flow/checked-draft.ts';
import { findOwnedAutomation } from './find-owned-automation.ts';

export const updateAutomationInput = z.object({ name: singleLine(AUTOMATION_NAME_MAX).optional() });

export interface UpdateAutomationInput {
  readonly name?: string | null | undefined;
  readonly flow?: unknown;
  /** The version of the draft that was read; needed with `flow`. */
  readonly draftVersion?: number | null | undefined;
}

/** Throws ValidationError, WrongStateError `AUTOMATION_CHANGED`, `AUTOMATION_NOT_FOUND`. */
export async function updateAutomation(
  ctx: Context,
  uid: string,
  input: UpdateAutomationInput,
): Promise<{ uid: string }> {
  const { name } = parseInput(updateAutomationInput, { name: input.name ?? undefined });
  const draft = input.flow === undefined || input.flow === null ? undefined : checkedDraft(input.flow);
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid, 'change');
    if (draft && typeof input.draftVersion !== 'number')
      throw new ValidationError({
        draftVersion: ['The draft version field is required with a flow: name the one you read.'],
      });
    if (draft && input.draftVersion !== automation.draftVersion) throw draftChanged(automation.draftVersion);
    await writeAutomation(tx.db, automation, { name, draft });
    return { uid };
  });
}
