/** Mail templates of active plugins (REGISTRY `mail_template`). */
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

/** Vendor, name and key, each no longer than the name of a folder. */
const TEMPLATE_NAME_LENGTH_MAX = 3 * 255 + 2;
export const pluginTemplateInput = z.object({ pluginTemplate: z.string().max(TEMPLATE_NAME_LENGTH_MAX).nullish() });

/** The templates of all active plugins, by plugin. */
export function pluginMailTemplates(ctx: Context): readonly PluginMailTemplate[] {
  viewerOf(ctx);
  return ctx.hooks
    .owned('mail_template')
    .map(({ plugin, value: { key, title, language, subject, html, plain = '' } }) => ({
      ...{ name: `${plugin}:${key}`, plugin, title, language, subject, html, plain },
    }));
}

/** The template of an active plugin of this name. Throws ValidationError on `pluginTemplate`. */
export function pluginMailTemplate(ctx: Context, name: string): PluginMailTemplate {
  parseInput(pluginTemplateInput, { pluginTemplate: name });
  const template = pluginMailTemplates(ctx).find((one) => one.name === name);
  if (template) return template;
  const sentence = 'No active plugin has this mail template: `pluginMailTemplates` lists them.';
  throw new ValidationError({ pluginTemplate: [sentence] }, 'TEMPLATE_NOT_FOUND', sentence);
}
