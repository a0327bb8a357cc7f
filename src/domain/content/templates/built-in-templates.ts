/**
 * The templates that come with the product. They are ours: a customer copies one and changes the copy. Their texts are English.
 * Most have no plain text: it is made from the html, so that it follows what the author changes.
 */
import { ValidationError } from '../../../lib/errors.ts';
import { ANNOUNCEMENT, NEWSLETTER, PLAIN_LETTER } from './built-in/for-a-list.ts';
import { RE_PERMISSION, RECEIPT, WELCOME } from './built-in/for-one-person.ts';
import { BUILT_IN_NAMES, type BuiltInTemplate } from './built-in/built-in-template.ts';

export const BUILT_IN_TEMPLATES: readonly BuiltInTemplate[] = [
  ...[PLAIN_LETTER, NEWSLETTER, ANNOUNCEMENT],
  ...[RECEIPT, WELCOME, RE_PERMISSION],
];

/** The built-in template of this name. Throws ValidationError on `builtIn`. */
export function builtInTemplate(name: string): BuiltInTemplate {
  const found = BUILT_IN_TEMPLATES.find((template) => template.name === name);
  if (found) return found;
  throw new ValidationError({
    builtIn: [`There is no built-in template "${name.slice(0, 50)}". There are: ${BUILT_IN_NAMES.join(', ')}.`],
  });
}
