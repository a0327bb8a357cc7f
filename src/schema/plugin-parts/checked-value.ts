/** Checks what a plugin's resolver has answered against the type of its field: a wrong value is a fault of the plugin, found where it is. */
import {
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  type GraphQLAbstractType,
  type GraphQLOutputType,
  type GraphQLSchema,
} from 'graphql';
import { messageOf } from '../../lib/errors.ts';

/** Items of a list whose field has no argument `first` or `perPage`; the cost of a document counts so many. */
export const PLUGIN_LIST_MAX = 100;

export interface Expected {
  readonly schema: GraphQLSchema;
  readonly type: GraphQLOutputType;
  /** The most items that a list may have. */
  readonly itemsMax: number;
}

/** The value. Throws a TypeError that says what is wrong. */
export function checkedValue({ schema, type, itemsMax }: Expected, value: unknown): unknown {
  if (value === null || value === undefined) {
    if (isNonNullType(type)) throw new TypeError(`It answered nothing; its type is ${String(type)}.`);
    return null;
  }
  const inner = isNonNullType(type) ? type.ofType : type;
  if (isListType(inner)) {
    if (!Array.isArray(value)) throw new TypeError(`It answered no list; its type is ${String(type)}.`);
    if (value.length > itemsMax)
      throw new TypeError(`It answered ${value.length} items; at most ${itemsMax} are allowed.`);
    return Array.from(value, (item: unknown) => checkedValue({ schema, type: inner.ofType, itemsMax }, item));
  }
  if (isLeafType(inner)) return checkedLeaf(() => inner.coerceOutputValue(value), value, String(type));
  if (typeof value !== 'object') throw new TypeError(`It answered no object; its type is ${String(type)}.`);
  if (isAbstractType(inner)) requireMember(schema, inner, value);
  return value;
}

function checkedLeaf(coerce: () => unknown, value: unknown, type: string): unknown {
  try {
    coerce();
    return value;
  } catch (error) {
    throw new TypeError(`It answered what is no ${type}: ${messageOf(error)}`, { cause: error });
  }
}

function requireMember(schema: GraphQLSchema, type: GraphQLAbstractType, value: object): void {
  const name: unknown = '__typename' in value ? value.__typename : undefined;
  const member = typeof name === 'string' ? schema.getType(name) : undefined;
  if (isObjectType(member) && schema.isSubType(type, member)) return;
  const what = isUnionType(type) ? 'a member' : 'a type';
  throw new TypeError(`Its answer needs a property "__typename" with the name of ${what} of ${type.name}.`);
}
