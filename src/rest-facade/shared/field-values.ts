/** Values of a list's fields in the parameters of a row: each is named by the tag of its field. */
import type { Input } from '../input.ts';

const FIELD_TAG = /^[A-Z0-9_]+$/;

/** Every other parameter in capitals is a field's value; the verb ignores names that are no field of the list. */
export function fieldValues(input: Input): Record<string, unknown> {
  const names = input.others().filter((name) => name !== 'EMAIL');
  input.ignore(...names.filter((name) => !FIELD_TAG.test(name)));
  return Object.fromEntries(names.filter((name) => FIELD_TAG.test(name)).map((name) => [name, input.raw(name)]));
}

/** Tells which of them are no field of the list (decision D53); `known` has a key for each of its fields. */
export function ignoreUnknownTags(input: Input, known: Readonly<Record<string, unknown>> = {}): void {
  input.ignore(...input.others().filter((name) => !Object.hasOwn(known, name.toUpperCase())));
}
