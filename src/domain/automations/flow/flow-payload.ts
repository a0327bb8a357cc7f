/** The payload of a run: what its event, or `execute`, brought. Read in conditions and mails as `payload.*`. */
import { unreachable } from '../../../lib/errors.ts';
import { fold } from '../../audience/segments/condition-read-model.ts';
import type { NumberCondition, TextCondition } from '../../audience/segments/segment.ts';
import type { PayloadCondition } from './flow-parts.ts';

export type FlowPayload = Readonly<Record<string, unknown>>;

/** Decision D27. */
export const PAYLOAD_BYTES_MAX = 64 * 1024;

/** The value at a path such as `cart.total`; undefined: there is none, or null. */
export function valueAt(payload: FlowPayload | null, path: string): unknown {
  let value: unknown = payload;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value ?? undefined;
}

/** A text, a number or a truth value as a text; undefined: nothing of that kind. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** Whether the condition is true; a missing value is treated as in segments. */
export function isTrueOf(payload: FlowPayload | null, { path, text, number, isPresent }: PayloadCondition): boolean {
  const value = valueAt(payload, path);
  if (isPresent !== undefined) return (value !== undefined) === isPresent;
  if (text) return isText(textOf(value) ?? '', text);
  return number ? isNumber(numberOf(value), number) : false;
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Compared without case. An empty text is a missing value. */
function isText(given: string, condition: TextCondition): boolean {
  const value = fold(given);
  const isMissing = value === '';
  if ('isEmpty' in condition) return isMissing === condition.isEmpty;
  if ('is' in condition) return value === fold(condition.is);
  if ('isNot' in condition) return value !== fold(condition.isNot);
  if ('contains' in condition) return value.includes(fold(condition.contains));
  if ('notContains' in condition) return !value.includes(fold(condition.notContains));
  if ('startsWith' in condition) return value.startsWith(fold(condition.startsWith));
  if ('endsWith' in condition) return value.endsWith(fold(condition.endsWith));
  if ('in' in condition) return condition.in.some((one) => fold(one) === value);
  if ('notIn' in condition) return condition.notIn.every((one) => fold(one) !== value);
  return unreachable(condition);
}

function isNumber(value: number | undefined, condition: NumberCondition): boolean {
  if ('isEmpty' in condition) return (value === undefined) === condition.isEmpty;
  if ('isNot' in condition) return value !== condition.isNot;
  if (value === undefined) return false;
  if ('is' in condition) return value === condition.is;
  if ('lt' in condition) return value < condition.lt;
  if ('lte' in condition) return value <= condition.lte;
  if ('gt' in condition) return value > condition.gt;
  if ('gte' in condition) return value >= condition.gte;
  if ('between' in condition) return value >= condition.between.from && value <= condition.between.to;
  return unreachable(condition);
}
