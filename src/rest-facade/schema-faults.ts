/**
 * What is wrong with a value deep in a parameter that does not fit the schema, as in a segment's rule: the sentences of GraphQL name types
 * of the schema, which callers of REST do not know.
 */
import {
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
} from 'graphql';
import type { FieldErrors } from '../lib/errors.ts';
import { fieldLabel, requiredSentence } from '../lib/text.ts';
import { oneOfTheWords, type VariableTypes } from './words.ts';

interface Names {
  readonly types: VariableTypes;
  /** The caller's name of a path from the variable. */
  readonly nameOf: (path: string) => string;
}

/** From `Variable "$input" has invalid value at .rule.all[0]: ...`; undefined: it is another message. */
export function schemaFault(message: string, { types, nameOf }: Names): FieldErrors | undefined {
  const [, variable = '', place, text] =
    /^Variable "\$(\w+)" has invalid value at \.([\w.[\]]{1,500}): (.*)$/s.exec(message) ?? [];
  if (place === undefined || text === undefined) return undefined;
  const path = place.replace(/\[(\d+)\]/g, '.$1');
  const steps = path.split('.');
  const type = typeAt(types.get(variable), steps);
  const missing = type && isInputObjectType(type) ? missingIn(text) : undefined;
  if (missing !== undefined) return { [nameOf(`${path}.${missing}`)]: [requiredSentence(missing)] };
  const name = steps.findLast((step) => !/^\d/.test(step)) ?? path;
  return { [nameOf(path)]: [sentenceOf(text, name, type)] };
}

/** Of an item for a list: GraphQL takes one value for a list of one. */
function typeAt(type: GraphQLInputType | undefined, steps: readonly string[]): GraphQLInputType | undefined {
  if (type && isNonNullType(type)) return typeAt(type.ofType, steps);
  const [step, ...more] = steps;
  if (type && isListType(type)) return typeAt(type.ofType, /^\d/.test(step ?? '') ? more : steps);
  if (step === undefined || !type || !isInputObjectType(type)) return type;
  return typeAt(type.getFields()[step]?.type, more);
}

function missingIn(text: string): string | undefined {
  return /^Expected value of type "\w+!?" to include required field "(\w+)"/.exec(text)?.[1];
}

const SCALARS: Readonly<Record<string, string>> = {
  'Int cannot represent non 32-bit': 'must be a whole number from -2147483648 to 2147483647',
  'Int cannot represent': 'must be a whole number',
  'Float cannot represent': 'must be a number',
  'String cannot represent': 'must be a text',
  'Boolean cannot represent': 'must be true or false',
};

function sentenceOf(text: string, name: string, type: GraphQLInputType | undefined): string {
  const label = fieldLabel(name);
  if (type && isInputObjectType(type)) return sentenceOfObject(text, label, type);
  if (type && isEnumType(type)) return oneOfTheWords(type, label);
  const scalar = Object.entries(SCALARS).find(([begin]) => text.startsWith(begin))?.[1];
  if (scalar !== undefined) return `The ${label} ${scalar}.`;
  if (text.startsWith('Expected value of non-null type')) return requiredSentence(name);
  // The product's own scalars: `DateTime must be ...`.
  return text.replace(/^[A-Z]\w+ must be /, `The ${label} must be `);
}

function sentenceOfObject(text: string, label: string, type: GraphQLInputObjectType): string {
  const names = Object.keys(type.getFields()).join(', ');
  const unknown = /unknown field "([^"]{1,100})"/.exec(text)?.[1];
  if (unknown !== undefined) return `The ${label} has no “${unknown}”. It may have: ${names}.`;
  if (type.isOneOf) return `The ${label} must be an object with exactly one of: ${names}.`;
  return `The ${label} must be an object. It may have: ${names}.`;
}
