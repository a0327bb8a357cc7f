/** Mail templates of active plugins (REGISTRY `mail_template`), and a campaign's texts that are copied from one. */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import { viewerOf, type Context } from '../context.ts';

export interface PluginMailTemplate {
  /** `vendor/name:key`, by which a campaign names it. */
  readonly name: string;
  readonly plugin: string;
  readonly title: string;
  readonly language: string;
  readonly subject: string;
  readonly html: string;
  /** Empty: made from the html. */
  readonly plain: string;
}

export interface TemplateChoice {
  /** `vendor/name:key`: its texts are copied. */
  readonly pluginTemplate?: string | null | undefined;
}

/** Vendor, name and key, each no longer than the name of a folder. */
const TEMPLATE_NAME_LENGTH_MAX = 3 * 255 + 2;
export const templateChoiceInput = z.object({ pluginTemplate: z.string().max(TEMPLATE_NAME_LENGTH_MAX).nullish() });

interface Texts extends TemplateChoice {
  readonly subject?: string | null | undefined;
  readonly html?: string | null | undefined;
  readonly plain?: string | null | undefined;
}

/** The templates of all active plugins, by plugin. */
export function pluginMailTemplates(ctx: Context): readonly PluginMailTemplate[] {
  viewerOf(ctx);
  return ctx.hooks
    .owned('mail_template')
    .map(({ plugin, value: { key, title, language, subject, html, plain = '' } }) => ({
      ...{ name: `${plugin}:${key}`, plugin, title, language, subject, html, plain },
    }));
}

/** The input with the texts of the template that it names; what is given itself goes before it. Throws ValidationError on `pluginTemplate`. */
export function withTemplate<Input extends Texts>(ctx: Context, { pluginTemplate, ...input }: Input) {
  if (!pluginTemplate) return input;
  parseInput(templateChoiceInput, { pluginTemplate });
  const template = pluginMailTemplates(ctx).find(({ name }) => name === pluginTemplate);
  if (!template) {
    const sentence = 'No active plugin has this mail template: `pluginMailTemplates` lists them.';
    throw new ValidationError({ pluginTemplate: [sentence] }, 'TEMPLATE_NOT_FOUND', sentence);
  }
  const { subject, html, plain } = template;
  return { ...input, subject: input.subject || subject, html: input.html || html, plain: input.plain || plain };
}
