/** Deletes a template that nothing refers to. */
import { inTransaction, type Context } from '../../context.ts';
import { flowsWithTemplate } from '../../flow-uses/flow-use-read-model.ts';
import { findOwnedTemplate } from './find-owned-template.ts';
import { templateInUse, templateOfFlows } from './template-errors.ts';
import { eraseTemplate, hasWaitingMail, isInUse } from './template-store.ts';

/**
 * Deletes the caller's template; campaigns keep their copies. Throws WrongStateError `TEMPLATE_IN_USE` while something refers to it
 * (decision D86), `TEMPLATE_NOT_FOUND`.
 */
export async function deleteTemplate(ctx: Context, uid: string): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const template = await findOwnedTemplate(tx, uid, { lock: true });
    if (await hasWaitingMail(tx.db, template)) throw templateInUse();
    const flows = await flowsWithTemplate(tx.db, template);
    if (flows.length > 0) throw templateOfFlows(flows);
    await eraseTemplate(tx.db, template).catch((error: unknown) => {
      throw isInUse(error) ? templateInUse() : error;
    });
    return { uid };
  });
}
