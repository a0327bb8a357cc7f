/** Checks a caller's values for a list's custom fields and converts them to their stored form: texts by tag. */
import type { FieldErrors } from '../../lib/errors.ts';
import { FIELD_VALUE_FAULTS, joinChoices, readFieldValue, takesMany, type FieldValueFault } from './field-value.ts';
import type { ListField } from './list-field.ts';

export interface FieldValues {
  readonly set: Readonly<Record<string, string>>;
  /** Tags whose value is removed. */
  readonly cleared: readonly string[];
  /** Given names that are no field of the list. */
  readonly unknown: readonly string[];
  readonly errors: FieldErrors;
}

export interface FieldValueOptions {
  /** Ignore names that are no field of the list instead of refusing them, as REST clients expect. */
  readonly ignoreUnknown: boolean;
  /** A new subscriber gets the defaults, and needs a value in every required field. */
  readonly isNew: boolean;
  /** The person fills in the form: invisible fields do not exist for it, and are not demanded. */
  readonly isPublic?: boolean;
}

/** Splits the given values into those to set and those to clear; every wrong one has an entry in `errors`. */
export function checkFieldValues(
  fields: readonly ListField[],
  given: Readonly<Record<string, unknown>>,
  options: FieldValueOptions,
): FieldValues {
  const offered = options.isPublic ? fields.filter(({ visible }) => visible) : fields;
  const byTag = new Map(offered.map((field) => [field.tag, field]));
  const errors: Record<string, string[]> = {};
  const set: Record<string, string> = {};
  const cleared = new Set<string>();
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    const field = byTag.get(name.toUpperCase());
    if (!field && !options.ignoreUnknown) errors[name.slice(0, SHOWN_NAME_MAX)] = ['The list has no such field.'];
    if (!field) unknown.push(name);
    if (!field) continue;
    const text = textOf(field, value);
    if (text !== undefined && text.trim() === '') {
      cleared.add(field.tag);
      continue;
    }
    const read = text === undefined ? undefined : readFieldValue(field, text);
    if (read?.value === undefined) errors[field.tag] = [`The ${field.tag} ${faultText(field, read?.fault)}.`];
    else set[field.tag] = read.value;
  }
  if (options.isNew) addDefaults(fields, { set, errors });
  for (const { tag, required } of offered) {
    const misses = options.isNew ? set[tag] === undefined : cleared.has(tag);
    if (required && misses && !errors[tag]) errors[tag] = [requiredFault(tag)];
  }
  return { set, cleared: [...cleared], unknown, errors };
}

/** The values that a new person without own ones gets, by tag. */
export function defaultValues(fields: readonly Pick<ListField, 'tag' | 'defaultValue'>[]): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap(({ tag, defaultValue }) => (defaultValue?.trim() ? [[tag, defaultValue] as const] : [])),
  );
}

export function requiredFault(tag: string): string {
  return `The ${tag} field is required.`;
}

function addDefaults(
  fields: readonly ListField[],
  { set, errors }: { set: Record<string, string>; errors: FieldErrors },
): void {
  for (const [tag, value] of Object.entries(defaultValues(fields))) if (!errors[tag]) set[tag] ??= value;
}

/** Options that are named in an error: enough to find a spelling, and no page of text. */
const SHOWN_OPTIONS_MAX = 20;

function faultText({ options }: ListField, fault: FieldValueFault | undefined): string {
  if (fault === undefined) return 'must be a text';
  if (fault !== 'not_an_option' && fault !== 'not_options') return FIELD_VALUE_FAULTS[fault];
  const more = options.length > SHOWN_OPTIONS_MAX ? ', …' : '';
  return `${FIELD_VALUE_FAULTS[fault]}: ${options.slice(0, SHOWN_OPTIONS_MAX).join(', ')}${more}`;
}

/** null clears; several choices may come as a list; another nested value has no text. */
function textOf(field: ListField, value: unknown): string | undefined {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && takesMany(field)) {
    const parts = value.map((part: unknown) => textOf(field, part));
    return parts.includes(undefined) ? undefined : joinChoices(parts.map((part) => part ?? ''));
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

/** The caller's own text is repeated in the answer: not a megabyte of it. */
const SHOWN_NAME_MAX = 64;
