/** Changes a template. Campaigns that copied it keep their copy. */
import { InputFaults } from '../../../lib/input-faults.ts';
import { inTransaction, type Context } from '../../context.ts';
import { compileTemplate } from './compile-template.ts';
import { findOwnedTemplate } from './find-owned-template.ts';
import { templateChanged } from './template-errors.ts';
import { updateTemplateInput, type UpdateTemplateInput } from './template-fields.ts';
import { writeTemplate } from './template-store.ts';

/**
 * Writes the given values. Throws ValidationError, WrongStateError `TEMPLATE_CHANGED` when `version` is given and is not that of
 * the template any more, `TEMPLATE_NOT_FOUND`.
 */
export async function updateTemplate(ctx: Context, uid: string, input: UpdateTemplateInput): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const template = await findOwnedTemplate(tx, uid, { lock: true });
    const faults = new InputFaults();
    const { version, ...values } = faults.readRight(updateTemplateInput, input);
    await faults.gather(async () => {
      if (version && version !== template.version) throw templateChanged(template.version);
    });
    const written = await writeTemplate(tx.db, template, values);
    await faults.gather(() => compileTemplate(written));
    faults.check({ areMore: tx.checksOnly });
    return { uid };
  });
}
