/**
 * An expected error as the value of a result union. GraphQL takes every Error that a resolver returns as thrown, so the value looks like
 * a plain object until the error's type is looked at, as the Pothos plugin for errors does it for the product's own fields.
 */
import type { ExpectedError } from '../../lib/errors.ts';
import { RESULT_ERRORS } from '../result-errors.ts';

export const ERROR_TYPE_NAMES = RESULT_ERRORS.map(({ name }) => name);

/** Called by the type of an error before it looks at the value (`@pothos/plugin-errors`). */
const UNWRAP = Symbol.for('Pothos.unwrapErrors');

const typeOfValue = new WeakMap<object, string>();

/** Whether results have a member for this error. */
export function isInResults(error: unknown): error is ExpectedError {
  return nameOf(error) !== undefined;
}

export function errorValue(error: ExpectedError): object {
  let isError = false;
  const value = new Proxy(error, {
    get: (target, key): unknown => (key === UNWRAP ? () => void (isError = true) : Reflect.get(target, key)),
    getPrototypeOf: (target) => (isError ? Reflect.getPrototypeOf(target) : Object.prototype),
  });
  typeOfValue.set(value, nameOf(error) ?? '');
  return value;
}

/** The type of a value that `errorValue` made; undefined for every other value. */
export function errorTypeOf(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? typeOfValue.get(value) : undefined;
}

function nameOf(error: unknown): string | undefined {
  return RESULT_ERRORS.find((type) => error instanceof type)?.name;
}
