/** Finds a template by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../../lib/ids.ts';
import { viewerOf, type Context } from '../../context.ts';
import { foreignTemplate, templateNotFound } from './template-errors.ts';
import { findTemplate, templateExists } from './template-store.ts';
import type { Template } from './template-fields.ts';

/** The caller's template. Throws NotFoundError `TEMPLATE_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedTemplate(
  ctx: Context,
  uid: string,
  options: { lock?: boolean } = {},
): Promise<Template> {
  if (!isUid(uid)) throw templateNotFound();
  const template = await findTemplate(ctx.db, { customerId: viewerOf(ctx).customerId, uid }, options);
  if (template) return template;
  throw (await templateExists(ctx.db, uid)) ? foreignTemplate() : templateNotFound();
}
