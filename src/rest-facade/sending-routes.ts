/** Maps and lists of maps as parameters: JSON has numbers, a form has texts of digits. */
import type { RequestParameters, ParameterValue } from './request-parameters.ts';
import type { Input } from './input.ts';
import { fromJsonText } from './json-text.ts';

/** A map; null or an empty text in its place clears. */
export function clearableMap(input: Input, name: string): Record<string, unknown> | null | undefined {
  const given = input.raw(name);
  if (given === null || given === '') return null;
  const map = input.plainObject(name);
  return map && Object.fromEntries(Object.entries(map).map(([key, value]) => [key, numberIfAny(value)]));
}

/** Servers by weight, `[{uid, weight}]`; null, an empty text or an empty list clears. */
export function routesParameter(input: Input, name: string): { uid: string; weight?: number }[] | null | undefined {
  const given = input.raw(name);
  if (given === undefined) return undefined;
  if (given === null || given === '') return null;
  const list = fromJsonText(name, given);
  const routes = Array.isArray(list) ? list.map(routeOf) : [undefined];
  const known = routes.filter((route) => route !== undefined);
  if (known.length < routes.length) input.refuse(name, `The ${name} must be a list of {uid, weight}.`);
  return known;
}

function routeOf(value: ParameterValue): { uid: string; weight?: number } | undefined {
  if (!isMap(value)) return undefined;
  const { uid, weight } = value;
  const number = numberIfAny(weight);
  if (typeof uid !== 'string' || (number !== undefined && !Number.isSafeInteger(number))) return undefined;
  return { uid, ...(typeof number === 'number' && Math.abs(number) < 2 ** 31 ? { weight: number } : {}) };
}

function isMap(value: ParameterValue): value is RequestParameters {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numberIfAny(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,9}(\.\d{1,3})?$/.test(value) ? Number(value) : value;
}
