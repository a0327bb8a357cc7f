/** A subscriber's stored values as merge tags take them. */
import type { FieldValue } from '../content/message.ts';

/** The column holds scalars; anything else shows as its JSON. */
export function fieldValues(fields: Readonly<Record<string, unknown>>): Record<string, FieldValue> {
  return Object.fromEntries(
    Object.entries(fields).map(([tag, value]) => [tag, isFieldValue(value) ? value : JSON.stringify(value)]),
  );
}

function isFieldValue(value: unknown): value is FieldValue {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
