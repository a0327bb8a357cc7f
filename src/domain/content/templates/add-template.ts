/** Adds a template: one that somebody wrote, a copy, the texts of a campaign, or a built-in one. */
import { assert } from '../../../lib/errors.ts';
import { newUid } from '../../../lib/ids.ts';
import { InputFaults } from '../../../lib/input-faults.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../../context.ts';
import { compileTemplate } from './compile-template.ts';
import { tooManyTemplates } from './template-errors.ts';
import { createTemplateInput, type CreateTemplateInput } from './template-fields.ts';
import { insertTemplate, lockAndCountTemplates } from './template-store.ts';
import { TEMPLATES_PER_CUSTOMER_MAX } from './template.ts';

/**
 * Adds the template after composing a message of it once, and returns its uid. Throws ValidationError (also `TOO_MANY_TEMPLATES`,
 * `TEMPLATE_FAULT`).
 */
export async function addTemplate(ctx: Context, input: CreateTemplateInput): Promise<{ uid: string }> {
  const { customerId } = viewerOf(ctx);
  const uid = newUid();
  await inTransaction(ctx, async (tx) => {
    const values = await checkedTemplate(tx, customerId, input);
    await insertTemplate(tx.db, { ...values, customerId, uid });
  });
  return { uid };
}

/** All faults are thrown together. */
async function checkedTemplate(tx: TransactionContext, customerId: bigint, input: CreateTemplateInput) {
  const faults = new InputFaults();
  const parsed = faults.read(createTemplateInput, input);
  await faults.gather(async () => {
    if ((await lockAndCountTemplates(tx.db, customerId)) >= TEMPLATES_PER_CUSTOMER_MAX) throw tooManyTemplates();
  });
  const values = parsed && {
    ...parsed,
    kind: parsed.kind ?? ('marketing' as const),
    preheader: parsed.preheader ?? '',
    html: parsed.html ?? '',
    plain: parsed.plain ?? '',
  };
  if (values) await faults.gather(() => compileTemplate(values));
  faults.check({ areMore: tx.checksOnly });
  assert(values, 'a template without faults has values');
  return values;
}
