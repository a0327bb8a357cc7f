/**
 * Every text, number and list that goes in says its limit in its description, and what is said is what is checked: one character
 * more is refused, by the name of the field.
 */
import {
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLInputField,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { buildSchema } from '../../src/schema/build-schema.ts';
import { mutations, rightArguments, runMutation, type Values } from '../support/mutation-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

type Field = GraphQLArgument | GraphQLInputField;

interface Input {
  readonly name: string;
  readonly field: Field;
}

const inputs: readonly Input[] = Object.values(buildSchema().getTypeMap()).flatMap((type): Input[] => {
  if (type.name.startsWith('__')) return [];
  if (isInputObjectType(type))
    return Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, field }));
  if (!isObjectType(type)) return [];
  return Object.values(type.getFields()).flatMap(({ name, args }) =>
    args.map((field) => ({ name: `${type.name}.${name}(${field.name})`, field })),
  );
});

/** Inputs without a limit, each with its reason. */
const NO_LIMIT: Readonly<Record<string, string>> = {
  'SignUpInput.trap': 'Anything but an empty text means a program; it is not stored and not read.',
};

test('every text, number and list says its limit', () => {
  expect(inputs.length).toBeGreaterThan(600);
  const silent = inputs.filter((input) => needsLimit(input) && !saysLimit(input)).map(({ name }) => name);
  expect(silent).toEqual(Object.keys(NO_LIMIT));
});

function needsLimit({ field }: Input): boolean {
  return ['String', 'Int'].includes(getNamedType(field.type).name) || isListType(getNullableType(field.type));
}

function saysLimit({ field }: Input): boolean {
  const limits: unknown = field.extensions['limits'];
  return typeof limits === 'string' && limits !== '' && (field.description ?? '').endsWith(limits);
}

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const world = await newWorld(app, { host: '127.0.0.1', port: 9, encryption: 'none' });

/** Refused by their state before anything is read; their limits are those of `logIn`. */
const BY_STATE: ReadonlySet<string> = new Set(['confirmTwoFactor', 'disableTwoFactor', 'renewRecoveryCodes']);

const limited = mutations
  .filter(({ name }) => !BY_STATE.has(name))
  .flatMap((mutation) =>
    placesOf(mutation.args).map((place) => ({ mutation, ...place, name: `${mutation.name} ${place.path.join('.')}` })),
  );

test('so many texts say a number of characters', () => {
  expect(limited.length).toBeGreaterThan(100);
});

describe('one character more is refused', () => {
  test.each(limited)('$name', async ({ mutation, path, most }) => {
    const values = withValue(rightArguments(mutation, world), path, 'x'.repeat(most + 1));
    const { isRefused, fields, text } = await runMutation(app, mutation, { values, world });
    expect(isRefused, text).toBe(true);
    expect(
      fields.map((field) => field.split('.').at(-1)),
      text,
    ).toContain(path.at(-1));
  });
});

/** Texts that say a number of characters. */
function placesOf(fields: readonly Field[], path: readonly string[] = []): { path: string[]; most: number }[] {
  return fields.flatMap((field) => {
    const type = getNullableType(field.type);
    const here = [...path, field.name];
    if (isInputObjectType(type)) return type.isOneOf ? [] : placesOf(Object.values(type.getFields()), here);
    const most = /(?:At most|From \d+ to) (\d+) characters\.$/.exec(field.description ?? '')?.[1];
    return most === undefined || isListType(type) ? [] : [{ path: here, most: Number(most) }];
  });
}

function withValue(given: Values, [first = '', ...rest]: readonly string[], value: unknown): Values {
  if (rest.length === 0) return { ...given, [first]: value };
  return { ...given, [first]: withValue(given[first] as Values, rest, value) };
}
