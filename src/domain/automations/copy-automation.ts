/** Copies the draft of an automation into a new one of the same list: nobody is in it, and nothing of it is published. */
import { inTransaction, type Context } from '../context.ts';
import { AUTOMATION_NAME_MAX } from './automation.ts';
import { createAutomation } from './create-automation.ts';
import { findOwnedAutomation } from './find-owned-automation.ts';

const COPY_MARK = ' (copy)';

/** Returns the uid of the copy. Throws ValidationError (also `PLAN_LIMIT_REACHED`, `TOO_MANY_AUTOMATIONS`), `AUTOMATION_NOT_FOUND`. */
export async function copyAutomation(
  ctx: Context,
  uid: string,
  { name }: { readonly name?: string | null | undefined },
): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const { listUid, draft, name: original } = await findOwnedAutomation(tx, uid);
    return createAutomation(tx, { listUid, flow: draft, name: name?.trim() ? name : copyName(original) });
  });
}

function copyName(name: string): string {
  return name.slice(0, AUTOMATION_NAME_MAX - COPY_MARK.length).toWellFormed() + COPY_MARK;
}
