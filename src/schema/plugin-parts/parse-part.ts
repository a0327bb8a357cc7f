/**
 * Reads the GraphQL part of a plugin and checks it by itself: names, types, rights and resolvers. Every fault is a sentence for the plugin's
 * author. Whether it fits to the product's schema is checked by merging.
 */
import {
  GraphQLError,
  isObjectType,
  Kind,
  parse,
  type ConstDirectiveNode,
  type DefinitionNode,
  type FieldDefinitionNode,
  type GraphQLSchema,
  type InputValueDefinitionNode,
  type NamedTypeNode,
  type ObjectTypeExtensionNode,
  type TypeDefinitionNode,
  type TypeNode,
} from 'graphql';
import { messageOf } from '../../lib/errors.ts';
import type { OwnedEntry } from '../../domain/product-hooks.ts';
import type { GraphqlPart } from '../../plugin-api/index.ts';
import { beginsWith, partShape, prefixesOf, shapeFault, type GivenPart } from './part-shape.ts';

const TOKENS_MAX = 20_000;
const SCALARS: readonly string[] = [
  ...['Int', 'Float', 'String', 'Boolean', 'ID', 'DateTime', 'BigInt', 'Base64', 'JsonObject'],
];
const ROOTS = ['Query', 'Mutation', 'Subscription'] as const;

export type RootName = (typeof ROOTS)[number];

export interface ParsedPart {
  readonly plugin: string;
  /** What the plugin has registered: tells whether the part is still live. */
  readonly source: GraphqlPart;
  readonly definitions: readonly (TypeDefinitionNode | ObjectTypeExtensionNode)[];
  readonly given: GivenPart;
}

/** The part cannot be used; the message says why. */
export class PartFault extends Error {
  constructor(plugin: string, what: string) {
    super(`The GraphQL part of plugin "${plugin}" cannot be used: ${what}`);
    this.name = 'PartFault';
  }
}

/** Checks the part. Throws PartFault. */
export function parsePart({ plugin, value }: OwnedEntry<GraphqlPart>, product: GraphQLSchema): ParsedPart {
  const fail = (what: string) => new PartFault(plugin, what);
  const { success, data: given, error } = partShape.safeParse(value);
  if (!success) throw fail(shapeFault(error));
  const definitions = definitionsOf(given.schema, fail);
  const own = new Set<string>();
  for (const definition of definitions) {
    if (definition.kind === Kind.OBJECT_TYPE_EXTENSION) continue;
    const { value: name } = definition.name;
    const { type } = prefixesOf(plugin);
    if (!beginsWith(name, type)) throw fail(`the type ${name} must have a name such as ${type}Note.`);
    if (own.has(name)) throw fail(`the type ${name} is defined twice.`);
    own.add(name);
  }
  const part: ParsedPart = { plugin, source: value, definitions, given };
  for (const definition of definitions) checkDefinition({ part, own, product, fail }, definition);
  checkAccess(part, fail);
  checkResolvers(part, fail);
  return part;
}

type Fail = (what: string) => PartFault;

function definitionsOf(text: string, fail: Fail): (TypeDefinitionNode | ObjectTypeExtensionNode)[] {
  return parseSdl(text, fail).map((node) => {
    if (isAllowed(node)) return node;
    throw fail(
      'it may define types, inputs, enums, unions and interfaces, and extend types with "extend type", and nothing else.',
    );
  });
}

function parseSdl(text: string, fail: Fail): readonly DefinitionNode[] {
  try {
    return parse(text, { maxTokens: TOKENS_MAX, noLocation: true }).definitions;
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw fail(messageOf(error));
    const [place] = error.locations ?? [];
    throw fail(`${error.message}${place ? ` (line ${place.line})` : ''}`);
  }
}

function isAllowed(node: DefinitionNode): node is TypeDefinitionNode | ObjectTypeExtensionNode {
  return ALLOWED.includes(node.kind);
}

const ALLOWED: readonly string[] = [
  Kind.OBJECT_TYPE_DEFINITION,
  Kind.INPUT_OBJECT_TYPE_DEFINITION,
  Kind.ENUM_TYPE_DEFINITION,
  Kind.UNION_TYPE_DEFINITION,
  Kind.INTERFACE_TYPE_DEFINITION,
  Kind.OBJECT_TYPE_EXTENSION,
];

interface Checking {
  readonly part: ParsedPart;
  readonly own: ReadonlySet<string>;
  readonly product: GraphQLSchema;
  readonly fail: Fail;
}

function checkDefinition(checking: Checking, definition: TypeDefinitionNode | ObjectTypeExtensionNode): void {
  const { own, fail } = checking;
  const type = definition.name.value;
  refuseDirectives(definition, fail);
  if (definition.kind === Kind.OBJECT_TYPE_EXTENSION) checkExtension(checking, definition);
  if ('interfaces' in definition)
    for (const { name } of definition.interfaces ?? [])
      if (!own.has(name.value)) throw fail(`${type} implements ${name.value}, which is not defined in the part.`);
  if (definition.kind === Kind.UNION_TYPE_DEFINITION)
    for (const member of definition.types ?? []) requireKnown(checking, member, type);
  if (!('fields' in definition)) return;
  for (const field of definition.fields ?? []) {
    const place = `${type}.${field.name.value}`;
    refuseDirectives(field, fail);
    requireKnown(checking, field.type, place);
    if (field.kind !== Kind.FIELD_DEFINITION) continue;
    for (const argument of field.arguments ?? []) {
      refuseDirectives(argument, fail);
      requireKnown(checking, argument.type, `${place}(${argument.name.value})`);
    }
  }
}

/** Those of the product are for its own fields. */
function refuseDirectives(
  node: { readonly directives?: readonly ConstDirectiveNode[] | undefined; readonly name: { readonly value: string } },
  fail: Fail,
): void {
  const other = node.directives?.find(({ name }) => name.value !== 'deprecated');
  if (other) throw fail(`${node.name.value} has the directive @${other.name.value}; only @deprecated may be used.`);
}

function checkExtension({ part, product, own, fail }: Checking, extension: ObjectTypeExtensionNode): void {
  const type = extension.name.value;
  if (own.has(type)) throw fail(`the type ${type} is its own: write all fields into its definition.`);
  const extended = product.getType(type);
  if (!isRoot(type) && !(isObjectType(extended) && 'uid' in extended.getFields()))
    throw fail(
      `it extends ${type}; it can extend Query, Mutation, Subscription, and types of Mailwright that have a uid.`,
    );
  if (extension.interfaces && extension.interfaces.length > 0) throw fail(`it may only add fields to ${type}.`);
  const { field: prefix } = prefixesOf(part.plugin);
  for (const field of extension.fields ?? []) {
    const { value: name } = field.name;
    if (!beginsWith(name, prefix)) throw fail(`the field ${type}.${name} must have a name such as ${prefix}Notes.`);
    if (!isRoot(type) && field.type.kind === Kind.NON_NULL_TYPE)
      throw fail(
        `the field ${type}.${name} must be nullable, so that ${type} is answered when it fails: remove the "!".`,
      );
  }
}

function requireKnown({ own, fail }: Checking, type: TypeNode, place: string): void {
  const { value: name } = namedTypeOf(type).name;
  if (own.has(name) || SCALARS.includes(name)) return;
  throw fail(`${place} has the type ${name}, which is neither defined in the part nor one of ${SCALARS.join(', ')}.`);
}

export function namedTypeOf(type: TypeNode): NamedTypeNode {
  return type.kind === Kind.NAMED_TYPE ? type : namedTypeOf(type.type);
}

export function isRoot(type: string): type is RootName {
  return ROOTS.some((root) => root === type);
}

/** The fields of the part with their types, by kind of type. */
export function fieldsOf({ definitions }: Pick<ParsedPart, 'definitions'>) {
  return definitions.flatMap((definition) =>
    definition.kind === Kind.OBJECT_TYPE_DEFINITION || definition.kind === Kind.OBJECT_TYPE_EXTENSION
      ? (definition.fields ?? []).map((field) => placed(definition, field))
      : [],
  );
}

export interface PlacedField {
  readonly type: string;
  readonly name: string;
  readonly kind: 'root' | 'added' | 'own';
  readonly args: readonly InputValueDefinitionNode[];
}

function placed(
  { kind, name: { value: type } }: TypeDefinitionNode | ObjectTypeExtensionNode,
  { name, arguments: args = [] }: FieldDefinitionNode,
): PlacedField {
  const added = isRoot(type) ? 'root' : 'added';
  return { type, name: name.value, kind: kind === Kind.OBJECT_TYPE_EXTENSION ? added : 'own', args };
}

/** What the plugin has given for this field. */
export function resolverOf({ given: { resolvers } }: ParsedPart, type: string, name: string) {
  const its = Object.hasOwn(resolvers, type) ? resolvers[type] : undefined;
  return its && Object.hasOwn(its, name) ? its[name] : undefined;
}

function checkAccess(part: ParsedPart, fail: Fail): void {
  const roots = fieldsOf(part).flatMap(({ kind, name }) => (kind === 'root' ? [name] : []));
  const twice = roots.find((name, index) => roots.indexOf(name) !== index);
  if (twice !== undefined) throw fail(`two root fields are named ${twice}.`);
  for (const name of roots)
    if (!Object.hasOwn(part.given.access, name))
      throw fail(
        `"access" must say who may use ${name}: "public", "authenticated", "admin" or a scope such as { scope: "lists:read" }.`,
      );
  for (const name of Object.keys(part.given.access))
    if (!roots.includes(name))
      throw fail(`"access" names ${name}, which is no field of Query, Mutation or Subscription.`);
}

function checkResolvers(part: ParsedPart, fail: Fail): void {
  const { resolvers } = part.given;
  const fields = fieldsOf(part);
  for (const { type, name, kind } of fields) {
    const resolver = resolverOf(part, type, name);
    if (kind !== 'own' && resolver === undefined) throw fail(`"resolvers" has none for ${type}.${name}.`);
    const isStream = typeof resolver === 'object';
    if (resolver !== undefined && isStream !== (type === 'Subscription'))
      throw fail(
        isStream
          ? `the resolver of ${type}.${name} must be a function.`
          : `the resolver of ${type}.${name} must be an object with the function "subscribe".`,
      );
  }
  for (const [type, its] of Object.entries(resolvers))
    for (const name of Object.keys(its))
      if (!fields.some((field) => field.type === type && field.name === name))
        throw fail(`"resolvers" has one for ${type}.${name}, which is not in its SDL.`);
}
