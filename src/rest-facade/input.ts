/**
 * Reads typed values from the request's parameters. Values of the wrong type are collected by name, so that one answer contains
 * all; whether a value is required or too long is decided by verbs. Absent is `undefined`: no change.
 */
import type { RequestParameters, ParameterValue } from './request-parameters.ts';
import type { FieldErrors } from '../lib/errors.ts';
import { invalid } from './errors.ts';
import { flagOf } from './flags.ts';
import { fromJsonText } from './json-text.ts';
import { isoTime } from './timestamps.ts';

const INT32_MAX = 2_147_483_647;

export interface Input {
  /** A part of the path, decoded. */
  param(name: string): string;
  has(name: string): boolean;
  /** Whether JSON null is given; forms have none. */
  isNull(name: string): boolean;
  /** The given names that the row does not declare: perhaps tags of a list's fields. The row says which it did not use. */
  others(): readonly string[];
  /** A text; numbers and booleans are written out; null is the empty text. */
  text(...names: readonly string[]): string | undefined;
  /** One of these words, in any case; an empty text counts as absent. */
  choice<Word extends string>(name: string, words: readonly Word[]): Word | undefined;
  /** A text, or null to clear. An empty text clears too, because forms have no null. */
  nullableText(...names: readonly string[]): string | null | undefined;
  /** A whole number of 32 bits; an empty text counts as absent. */
  integer(...names: readonly string[]): number | undefined;
  /** A whole number; beyond 32 bits it is the largest or smallest of them. */
  boundedInteger(...names: readonly string[]): number | undefined;
  /** A flag in any spelling of decision D4; an empty text counts as absent. */
  flag(...names: readonly string[]): boolean | undefined;
  /** A time (`YYYY-MM-DD HH:MM:SS` in UTC, or ISO 8601) as ISO text; empty or null clears. */
  time(...names: readonly string[]): string | null | undefined;
  /** A nested object's own reader; JSON text in its place is read. */
  object(name: string): Input | undefined;
  /** A nested object as it is. */
  plainObject(name: string): RequestParameters | undefined;
  /** The value as it is. */
  raw(name: string): ParameterValue | undefined;
  /** Records that nothing was done with this parameter: the answer says so (decision D53). */
  ignore(...names: readonly string[]): void;
  /** Records that this parameter is wrong. */
  refuse(name: string, message: string): void;
  /** What was refused, by name. */
  faults(): FieldErrors;
  /** Throws RestError 422 when anything was refused. */
  check(): void;
}

/** Names of parameters; one without inner names is read with everything in it. */
export type NameTree = ReadonlyMap<string, NameTree>;

/** What a reader knows of its row and its call. */
export interface Reading {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly declared: NameTree;
  /** The names that nothing was done with. */
  readonly ignored: Set<string>;
}

/** A reader for one request. */
export function inputOf(given: RequestParameters, reading: Reading): Input {
  return reader(given, { ...reading, problems: new Map(), prefix: '' });
}

/** A text that identifies something: if missing, a 422 says so instead of a 404. */
export function neededName(input: Input, ...names: readonly [string, ...string[]]): string {
  const text = input.text(...names) ?? '';
  if (text === '') input.refuse(names[0], `The ${names[0].replaceAll('_', ' ')} field is required.`);
  return text;
}

interface Scope extends Reading {
  readonly problems: Map<string, string[]>;
  readonly prefix: string;
}

function reader(given: RequestParameters, scope: Scope): Input {
  const refuse = (name: string, message: string) => {
    const field = scope.prefix + name;
    scope.problems.set(field, [...(scope.problems.get(field) ?? []), message]);
  };
  // The first spelling that is present.
  const find = (names: readonly string[]) =>
    names.map((name) => [name, given[name]] as const).find(([, value]) => value !== undefined);
  const read = <T>(
    names: readonly string[],
    convert: (value: ParameterValue) => T | undefined,
    expected: string,
  ): T | undefined => {
    const [name = '', value] = find(names) ?? [];
    if (value === undefined) return undefined;
    const converted = convert(value);
    if (converted === undefined) refuse(name, `The ${name} must be ${expected}.`);
    return converted;
  };
  const readUnlessEmpty = <T>(
    names: readonly string[],
    convert: (value: ParameterValue) => T | undefined,
    expected: string,
  ) => {
    const value = find(names)?.[1];
    return value === null || (typeof value === 'string' && value.trim() === '')
      ? undefined
      : read(names, convert, expected);
  };
  const readObject = (name: string) => read([name], (value) => objectOf(fromJsonText(name, value)), 'an object');
  return {
    param: (name) => scope.params[name] ?? '',
    has: (name) => given[name] !== undefined,
    isNull: (name) => given[name] === null,
    others: () => Object.keys(given).filter((name) => !scope.declared.has(name)),
    text: (...names) => read(names, textOf, 'a text'),
    choice: (name, words) =>
      readUnlessEmpty(
        [name],
        (value) => words.find((word) => word === textOf(value)?.trim().toLowerCase()),
        words.join(' or '),
      ),
    nullableText: (...names) => {
      const text = read(names, textOf, 'a text');
      return text === '' ? null : text;
    },
    integer: (...names) => readUnlessEmpty(names, integerOf, 'a whole number'),
    boundedInteger: (...names) => readUnlessEmpty(names, boundedIntegerOf, 'a whole number'),
    flag: (...names) => readUnlessEmpty(names, flagOf, 'true or false (1 or 0, yes or no)'),
    time: (...names) => {
      const value = find(names)?.[1];
      return value === null || value === '' ? null : read(names, timeOf, 'a time such as 2030-01-31 08:00:00 (UTC)');
    },
    object: (name) => {
      const object = readObject(name);
      const declared = scope.declared.get(name) ?? new Map();
      return object && reader(object, { ...scope, declared, prefix: `${scope.prefix}${name}.` });
    },
    plainObject: readObject,
    raw: (name) => given[name],
    ignore: (...names) => names.forEach((name) => scope.ignored.add(scope.prefix + name)),
    refuse,
    faults: () => Object.fromEntries(scope.problems),
    check: () => {
      if (scope.problems.size > 0) throw invalid(Object.fromEntries(scope.problems));
    },
  };
}

function textOf(value: ParameterValue): string | undefined {
  if (value === null) return '';
  return typeof value === 'object' ? undefined : String(value);
}

function integerOf(value: ParameterValue): number | undefined {
  if (typeof value === 'string' && !/^\s*[+-]?\d{1,15}(\.0+)?\s*$/.test(value)) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const number = Number(value);
  return Number.isInteger(number) && Math.abs(number) <= INT32_MAX ? number : undefined;
}

function boundedIntegerOf(value: ParameterValue): number | undefined {
  const number = typeof value === 'string' && /^\s*[+-]?\d+\s*$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !(Number.isInteger(number) || Math.abs(number) === Infinity))
    return integerOf(value);
  return Math.max(-INT32_MAX, Math.min(number, INT32_MAX));
}

function timeOf(value: ParameterValue): string | undefined {
  return typeof value === 'string' ? isoTime(value) : undefined;
}

/** PHP clients send an empty list for an empty object. */
function objectOf(value: ParameterValue): RequestParameters | undefined {
  if (value === null || value === '' || (isList(value) && value.length === 0)) return {};
  return typeof value === 'object' && !isList(value) ? value : undefined;
}

function isList(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}
