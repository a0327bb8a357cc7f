/** Flags (decision D4), in any of their spellings. */
import type { ParameterValue } from './request-parameters.ts';

const SPELLINGS: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['yes', true],
  ['on', true],
  ['0', false],
  ['false', false],
  ['no', false],
  ['off', false],
]);

/** The flag, or undefined when the value is none. */
export function flagOf(value: ParameterValue): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  return SPELLINGS.get(String(value).trim().toLowerCase());
}
