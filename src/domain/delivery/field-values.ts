/** A subscriber's stored values in the form for merge tags. */
import type { FieldValue } from '../content/message.ts';

/** The column contains scalars; anything else becomes its JSON. */
export function fieldValues(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, FieldValue>> {
  if (areFieldValues(fields)) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([tag, value]) => [tag, isFieldValue(value) ? value : JSON.stringify(value)]),
  );
}

/** Nearly always true, and then nothing is copied. */
function areFieldValues(fields: Readonly<Record<string, unknown>>): fields is Readonly<Record<string, FieldValue>> {
  for (const tag in fields) if (!isFieldValue(fields[tag])) return false;
  return true;
}

function isFieldValue(value: unknown): value is FieldValue {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
