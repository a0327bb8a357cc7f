/** The GraphQL document of a plugin's row: one operation that fits the schema, with the refusals of every field that may refuse. */
import {
  getNamedType,
  GraphQLError,
  isObjectType,
  isUnionType,
  Kind,
  OperationTypeNode,
  parse,
  validate,
  type DefinitionNode,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import type { Documents, Operation } from '../documents.ts';
import { variableTypesOf } from '../words.ts';

const TOKENS_MAX = 4_000;
const FAILURE = 'Failure';
/** A union with this member answers refusals. */
const REFUSAL = 'UnauthenticatedError';

/** Reads the document. Throws an Error with a sentence. */
export function pluginOperation(text: string, schema: GraphQLSchema, product: Documents): Operation {
  const written = parseText(text);
  const operations = written.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const others = written.definitions.filter((node) => node.kind !== Kind.FRAGMENT_DEFINITION);
  const [operation] = operations;
  if (!operation || others.length > 1 || operation.operation === OperationTypeNode.SUBSCRIPTION)
    throw new Error('"operation" must have one query or mutation, and fragments if needed.');
  const complete = { ...operation, selectionSet: withFailures(operation, schema) };
  const fragments = written.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  if (fragments.some(({ name }) => name.value === FAILURE))
    throw new Error(`The fragment ${FAILURE} is Mailwright's: give yours another name.`);
  const document: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: [complete, ...fragments, ...failureFragment(product)],
  };
  const faults = validate(schema, document, undefined, { hideSuggestions: true });
  const wrong = faults.filter(({ message }) => message !== `Fragment "${FAILURE}" is never used.`);
  if (wrong.length > 0)
    throw new Error(`"operation" does not fit the schema: ${wrong.map(({ message }) => message).join(' ')}`);
  const isMutation = operation.operation === OperationTypeNode.MUTATION;
  return { document, isMutation, variableTypes: variableTypesOf(operation, schema), schema };
}

function parseText(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: TOKENS_MAX, noLocation: true });
  } catch (error) {
    if (error instanceof GraphQLError)
      throw new Error(`"operation" cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}

function withFailures({ operation, selectionSet }: OperationDefinitionNode, schema: GraphQLSchema): SelectionSetNode {
  const root = schema.getRootType(operation);
  const selections = selectionSet.selections.map((selection): SelectionNode => {
    if (selection.kind !== Kind.FIELD || !selection.selectionSet || !isObjectType(root)) return selection;
    const field = root.getFields()[selection.name.value];
    const type = field && getNamedType(field.type);
    if (!isUnionType(type) || !type.getTypes().some(({ name }) => name === REFUSAL)) return selection;
    const inner = selection.selectionSet;
    return { ...selection, selectionSet: { ...inner, selections: [...inner.selections, FAILURE_SPREAD] } };
  });
  return { ...selectionSet, selections };
}

const FAILURE_SPREAD: SelectionNode = {
  ...{ kind: Kind.FRAGMENT_SPREAD, name: { kind: Kind.NAME, value: FAILURE } },
};

/** The product's own, as its rows use it. */
function failureFragment(product: Documents): DefinitionNode[] {
  for (const { document } of product.values()) {
    const found = document.definitions.find(
      (node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === FAILURE,
    );
    if (found) return [found];
  }
  return [];
}
