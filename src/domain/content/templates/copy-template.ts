/** Copies a template under another name, to change the copy. */
import { parseInput } from '../../../lib/text.ts';
import type { Context } from '../../context.ts';
import { addTemplate } from './add-template.ts';
import { builtInTemplate } from './built-in-templates.ts';
import { findOwnedTemplate } from './find-owned-template.ts';
import { templateNameInput } from './template-fields.ts';
import { TEMPLATE_NAME_LENGTH_MAX } from './template.ts';

export interface CopyInput {
  /** Empty or absent: made from the name of the original. */
  readonly name?: string | null | undefined;
}

const COPY_MARK = ' (copy)';

/** Copies one of the caller's templates, and returns the uid of the copy. Throws ValidationError, `TEMPLATE_NOT_FOUND`. */
export async function copyTemplate(ctx: Context, uid: string, { name }: CopyInput): Promise<{ uid: string }> {
  const { name: original, kind, subject, preheader, html, plain } = await findOwnedTemplate(ctx, uid);
  const texts = { kind, subject, preheader, html, plain };
  return addTemplate(ctx, { ...texts, name: nameOf(name) ?? copyName(original) });
}

/** Copies a built-in template. Throws ValidationError (`builtIn` for a name that none has). */
export async function copyBuiltInTemplate(
  ctx: Context,
  { builtIn, name }: CopyInput & { builtIn: string },
): Promise<{ uid: string }> {
  const { title, kind, subject, preheader, html, plain } = builtInTemplate(builtIn);
  return addTemplate(ctx, { kind, subject, preheader, html, plain, name: nameOf(name) ?? title });
}

function nameOf(name: string | null | undefined): string | undefined {
  return name?.trim() ? parseInput(templateNameInput, { name }).name : undefined;
}

function copyName(name: string): string {
  return name.slice(0, TEMPLATE_NAME_LENGTH_MAX - COPY_MARK.length).toWellFormed() + COPY_MARK;
}
