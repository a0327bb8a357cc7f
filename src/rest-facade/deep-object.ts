/** An object that may be nested deeper than parameters are: then it is given as JSON text. */
import type { Input } from './input.ts';

/** The object under this name, unchanged: the schema checks what it is. Undefined: none, or it was refused. */
export function deepObject<Value extends object>(input: Input, name: string, depthMax: number): Value | undefined {
  const given = input.raw(name);
  if (given === undefined || given === null || given === '') return undefined;
  const value: unknown = typeof given === 'string' ? parsed(given) : given;
  if (isObject<Value>(value) && isWithin(value, depthMax)) return value;
  input.refuse(name, `The ${name} must be an object of JSON.`);
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject<Value extends object>(value: unknown): value is Value {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}
