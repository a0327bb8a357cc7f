/** Checks a caller's values for a list's custom fields and converts them to their stored form: texts by tag. */
import type { FieldErrors } from '../../lib/errors.ts';
import { FIELD_VALUE_FAULTS, fieldValueFault, type ListField } from './list-field.ts';

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
  /** A new subscriber needs a value in every required field. */
  readonly isNew: boolean;
}

/** Splits the given values into those to set and those to clear; every wrong one has an entry in `errors`. */
export function checkFieldValues(
  fields: readonly ListField[],
  given: Readonly<Record<string, unknown>>,
  options: FieldValueOptions,
): FieldValues {
  const byTag = new Map(fields.map((field) => [field.tag, field]));
  const errors: Record<string, string[]> = {};
  const set: Record<string, string> = {};
  const cleared = new Set<string>();
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    const field = byTag.get(name.toUpperCase());
    const text = textOf(value);
    if (!field && !options.ignoreUnknown) errors[name.slice(0, SHOWN_NAME_MAX)] = ['The list has no such field.'];
    if (!field) unknown.push(name);
    if (!field) continue;
    const fault = text === undefined ? 'must be a text' : faultOf(field, text);
    if (fault) errors[field.tag] = [`The ${field.tag} ${fault}.`];
    else if (!text || text.trim() === '') cleared.add(field.tag);
    else set[field.tag] = field.type === 'text' ? text : text.trim();
  }
  for (const { tag, required } of fields) {
    const misses = options.isNew ? set[tag] === undefined : cleared.has(tag);
    if (required && misses && !errors[tag]) errors[tag] = [`The ${tag} field is required.`];
  }
  return { set, cleared: [...cleared], unknown, errors };
}

function faultOf({ type }: ListField, text: string): string | undefined {
  const fault = text.trim() === '' ? undefined : fieldValueFault(type, text);
  return fault && FIELD_VALUE_FAULTS[fault];
}

/** null clears; a nested value has no text. */
function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

/** The caller's own text is repeated in the answer: not a megabyte of it. */
const SHOWN_NAME_MAX = 64;
