/**
 * Values of a list's fields in the parameters of a row: each is named by the tag of its field, in capitals or not (decision D53). A
 * parameter that the row declares, such as `status`, is never a tag.
 */
import type { Input } from '../input.ts';

const FIELD_TAG = /^[A-Z0-9_]+$/i;
/** The tag of the address, which is no custom field. */
const ADDRESS = 'EMAIL';

/** The address, in any spelling of its tag. */
export function emailText(input: Input): string | undefined {
  const others = input.others().filter((name) => name.toUpperCase() === ADDRESS);
  return input.text(ADDRESS, 'email', ...others);
}

/** The values by name; the verb ignores names that are no field of the list. Of two spellings of a tag the capitals count. */
export function fieldValues(input: Input): Record<string, unknown> {
  const nameOf = new Map<string, string>();
  for (const name of input.others()) {
    const tag = name.toUpperCase();
    if (tag === ADDRESS) continue;
    if (!FIELD_TAG.test(name) || (name !== tag && (nameOf.has(tag) || input.has(tag)))) input.ignore(name);
    else nameOf.set(tag, name);
  }
  return Object.fromEntries([...nameOf.values()].map((name) => [name, input.raw(name)]));
}

/** Tells which of them are no field of the list (decision D53); `known` has a key for each of its fields. */
export function ignoreUnknownTags(input: Input, known: Readonly<Record<string, unknown>> = {}): void {
  const tags = new Set([ADDRESS, ...Object.keys(known)]);
  input.ignore(...input.others().filter((name) => !tags.has(name.toUpperCase())));
}
