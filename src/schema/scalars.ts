/** The scalars besides GraphQL's own. Values are checked here, so that verbs get valid ones. */
import { GraphQLError, Kind, type ValueNode } from 'graphql';
import { builder } from './builder.ts';

/** Enough for an offset and fractions; a longer text is no time. */
const TIMESTAMP_LENGTH_MAX = 40;
const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;
/** bigint of the database: 19 digits and a sign. */
const BIGINT = /^-?\d{1,19}$/;
const BIGINT_MAX = 2n ** 63n;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** A flow: its nodes, five groups of conditions, and in them a segment's rule of 24 levels. Most other objects are flat. */
const JSON_DEPTH_MAX = 36;

builder.scalarType('DateTime', {
  description: 'A point in time as ISO 8601 in UTC, with milliseconds: `2026-01-31T08:00:00.000Z`.',
  serialize: (value) => value.toISOString(),
  parseValue: (value) => {
    if (typeof value === 'string' && value.length <= TIMESTAMP_LENGTH_MAX && ISO_8601.test(value)) {
      const date = new Date(value);
      if (!Number.isNaN(date.getTime())) return date;
    }
    throw new GraphQLError('DateTime must be an ISO 8601 time stamp with a time zone.');
  },
});

builder.scalarType('BigInt', {
  description: 'A whole number of up to 64 bits, written as a string of digits.',
  serialize: (value) => value.toString(),
  parseValue: (value) => {
    const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
    if (typeof text === 'string' && BIGINT.test(text)) {
      const number = BigInt(text);
      if (-BIGINT_MAX <= number && number < BIGINT_MAX) return number;
    }
    throw new GraphQLError('BigInt must be a whole number of up to 64 bits.');
  },
});

builder.scalarType('Base64', {
  description: 'Bytes, written as Base64 (RFC 4648).',
  serialize: (value) => Buffer.from(value).toString('base64'),
  parseValue: (value) => {
    // Inside the program bytes are passed unchanged.
    if (value instanceof Uint8Array) return value;
    if (typeof value === 'string' && BASE64.test(value)) return Buffer.from(value, 'base64');
    throw new GraphQLError('Base64 must be a text of letters, digits, + and /, padded with =.');
  },
});

builder.scalarType('JsonObject', {
  description: 'A JSON object.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (isObject(value) && withinDepth(value, JSON_DEPTH_MAX)) return value;
    throw new GraphQLError(`JsonObject must be a JSON object of at most ${JSON_DEPTH_MAX} levels.`);
  },
  parseLiteral: (node, variables) => {
    const value = literalValue(node, variables ?? {}, JSON_DEPTH_MAX);
    if (isObject(value)) return value;
    throw new GraphQLError('JsonObject must be a JSON object.');
  },
});

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => withinDepth(inner, levels - 1));
}

function literalValue(node: ValueNode, variables: Readonly<Record<string, unknown>>, levels: number): unknown {
  if (levels < 0) throw new GraphQLError(`JsonObject must be a JSON object of at most ${JSON_DEPTH_MAX} levels.`);
  switch (node.kind) {
    case Kind.VARIABLE:
      return variables[node.name.value];
    case Kind.NULL:
      return null;
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value);
    case Kind.LIST:
      return node.values.map((inner) => literalValue(inner, variables, levels - 1));
    case Kind.OBJECT:
      return Object.fromEntries(
        node.fields.map((field) => [field.name.value, literalValue(field.value, variables, levels - 1)]),
      );
    default:
      return node.value;
  }
}
