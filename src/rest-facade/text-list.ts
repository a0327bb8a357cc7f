/** A parameter that is a list of texts: an array, or one text with commas. */
import type { Input } from './input.ts';

/** The texts without those that are empty; undefined: it is not given. */
export function textsIn(input: Input, name: string): string[] | undefined {
  const given = input.raw(name);
  const texts = Array.isArray(given) ? given : input.text(name)?.split(',');
  const found = texts?.flatMap((text) => (typeof text === 'string' ? [text.trim()] : []));
  if (found && found.length < (texts?.length ?? 0)) input.refuse(name, `The ${name} must be texts.`);
  return found?.filter((text) => text !== '');
}
