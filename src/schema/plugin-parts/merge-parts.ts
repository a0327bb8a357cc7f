/** The product's schema with the parts of plugins. The product's own schema stays as it is; a new one is made. */
import {
  extendSchema,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  Kind,
  validateSchema,
  type DocumentNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
} from 'graphql';
import type { ProductHooks } from '../../domain/product-hooks.ts';
import { assert } from '../../lib/errors.ts';
import { PER_PAGE_MAX } from '../limits.ts';
import { PLUGIN_LIST_MAX } from './checked-value.ts';
import { fieldsOf, resolverOf, type ParsedPart, type PlacedField } from './parse-part.ts';
import {
  addedResolver,
  memberOf,
  ownResolver,
  rootResolver,
  type PluginField,
  type PluginFunction,
} from './plugin-resolvers.ts';
import { eventResolver, streamSubscriber } from './plugin-stream.ts';
import { withResults, type ResultForm } from './with-results.ts';

/** Merges parts that were parsed. Throws an Error with all faults. */
export function mergeParts(product: GraphQLSchema, parts: readonly ParsedPart[], hooks: ProductHooks): GraphQLSchema {
  if (parts.length === 0) return product;
  const complete = parts.map((part) => ({ part, ...withResults(part) }));
  const document: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: complete.flatMap(({ definitions }) => definitions),
  };
  const schema = extendSchema(product, document);
  const faults = validateSchema(schema);
  if (faults.length > 0) throw new Error(faults.map(({ message }) => message).join(' '));
  for (const { part, forms } of complete)
    for (const field of fieldsOf(part)) attach({ schema, part, hooks, forms }, field);
  return schema;
}

interface Merged {
  readonly schema: GraphQLSchema;
  readonly part: ParsedPart;
  readonly hooks: ProductHooks;
  readonly forms: ReadonlyMap<string, ResultForm>;
}

function attach(merged: Merged, placed: PlacedField): void {
  const { schema, part } = merged;
  const type = schema.getType(placed.type);
  const field = isObjectType(type) ? type.getFields()[placed.name] : undefined;
  assert(isObjectType(type) && field, 'a field of a part is in the merged schema');
  const given = resolverOf(part, placed.type, placed.name);
  if (placed.kind === 'root') return attachRoot(merged, placed, { field, given });
  limitList(field);
  const about = pluginField(merged, placed, field);
  const resolve = typeof given === 'function' ? given : undefined;
  if (placed.kind === 'own') field.resolve = ownResolver(about, placed.name, resolve);
  else if (resolve) attachAdded(type, field, { about, resolve });
}

interface Root {
  readonly field: GraphQLField<unknown, unknown>;
  readonly given: PluginFunction | { readonly subscribe: PluginFunction } | undefined;
}

function attachRoot(merged: Merged, placed: PlacedField, { field, given }: Root): void {
  const access = merged.part.given.access[placed.name];
  assert(access && given, 'a root field of a part has a right and a resolver');
  const hasArguments = field.args.length > 0;
  if (typeof given === 'object') {
    const about = { ...pluginField(merged, placed, field), access, hasArguments };
    field.subscribe = streamSubscriber(about, given.subscribe);
    field.resolve = eventResolver(about);
    return limitList(field);
  }
  const form = merged.forms.get(placed.name);
  const union = form && merged.schema.getType(form.union);
  const member = form && merged.schema.getType(form.member);
  assert(form && isUnionType(union) && isObjectType(member), 'a root field of a part has a result');
  const inner = form.property && member.getFields()[form.property];
  // The size arguments are those of the root field; its list is inside of the member.
  if (inner) limitList(inner, field);
  union.resolveType = memberOf(form);
  const about = pluginField(merged, placed, { type: inner?.type ?? member, args: field.args });
  const isMutation = placed.type === 'Mutation';
  field.resolve = rootResolver({ ...about, access, form, isMutation, hasArguments }, given);
}

function attachAdded(
  type: GraphQLObjectType,
  field: GraphQLField<unknown, unknown>,
  { about, resolve }: { readonly about: PluginField; readonly resolve: PluginFunction },
): void {
  const { uid } = type.getFields();
  assert(uid, 'an extended type has a uid');
  // The row is then read with the columns of its uid.
  const { pothosPrismaSelect } = uid.extensions;
  if (pothosPrismaSelect) field.extensions = { ...field.extensions, pothosPrismaSelect };
  field.resolve = addedResolver(about, resolve, (parent, ctx, info) =>
    uid.resolve ? uid.resolve(parent, {}, ctx, { ...info, fieldName: 'uid' }) : Reflect.get(Object(parent), 'uid'),
  );
}

/** The cost of a document counts as many items as the list may have. */
function limitList(field: GraphQLField<unknown, unknown>, around = field): void {
  const isList = isListType(isNonNullType(field.type) ? field.type.ofType : field.type);
  if (isList && !sizeArgumentOf(around)) field.extensions = { ...field.extensions, listLength: PLUGIN_LIST_MAX };
}

function pluginField(
  { schema, part, hooks }: Merged,
  { type, name }: PlacedField,
  field: Pick<GraphQLField<unknown, unknown>, 'type' | 'args'>,
): PluginField {
  const size = sizeArgumentOf(field);
  return {
    ...{ plugin: part.plugin, place: `${type}.${name}`, hooks },
    isLive: () => hooks.owned('graphql_part').some(({ value }) => value === part.source),
    expected: (args) => ({ schema, type: field.type, itemsMax: size ? askedFor(args, size) : PLUGIN_LIST_MAX }),
  };
}

function sizeArgumentOf({ args }: Pick<GraphQLField<unknown, unknown>, 'args'>): string | undefined {
  return args.find(({ name }) => name === 'first' || name === 'perPage')?.name;
}

function askedFor(args: object, size: string): number {
  const given: unknown = Reflect.get(args, size);
  return typeof given === 'number' ? given : Math.min(PLUGIN_LIST_MAX, PER_PAGE_MAX);
}
