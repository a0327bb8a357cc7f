/** A campaign's texts that are copied from a template: one of the customer's, or one of a plugin. */
import { ValidationError } from '../../lib/errors.ts';
import { requireScope } from '../accounts/require-scope.ts';
import { findOwnedTemplate } from '../content/templates/find-owned-template.ts';
import type { Context } from '../context.ts';
import { pluginMailTemplate } from './plugin-templates.ts';

export interface TemplateChoice {
  /** The uid of a template. */
  readonly templateUid?: string | null | undefined;
  /** `vendor/name:key` of a plugin's. */
  readonly pluginTemplate?: string | null | undefined;
}

interface Texts {
  readonly subject?: string | null | undefined;
  readonly preheader?: string | null | undefined;
  readonly html?: string | null | undefined;
  readonly plain?: string | null | undefined;
}

/**
 * The input with the texts of the template that it names; texts that are given themselves go before it. Throws ValidationError
 * on `pluginTemplate` or `templateUid`, ForbiddenError without the scope `templates:read`, `TEMPLATE_NOT_FOUND`.
 */
export async function withTemplate<Input extends Texts & TemplateChoice>(
  ctx: Context,
  { templateUid, pluginTemplate, ...input }: Input,
) {
  if (!templateUid && !pluginTemplate) return input;
  const chosen = await textsOf(ctx, { templateUid, pluginTemplate });
  return {
    ...input,
    subject: input.subject || chosen.subject,
    preheader: input.preheader === undefined ? chosen.preheader : input.preheader,
    html: input.html || chosen.html,
    plain: input.plain || chosen.plain,
  };
}

async function textsOf(ctx: Context, { templateUid, pluginTemplate }: TemplateChoice): Promise<Texts> {
  if (templateUid && pluginTemplate) {
    const sentence = 'Give either a template or the template of a plugin.';
    throw new ValidationError({ templateUid: [sentence], pluginTemplate: [sentence] });
  }
  if (!templateUid) return pluginMailTemplate(ctx, pluginTemplate ?? '');
  requireScope(ctx, 'templateUid', 'templates:read');
  return findOwnedTemplate(ctx, templateUid);
}
