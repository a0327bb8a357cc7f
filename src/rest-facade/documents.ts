/**
 * The `.graphql` files beside the rows: read, parsed and validated once, at the start. A row names its operation; a missing file,
 * or one that does not fit the schema, stops the start and not a request.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import {
  Kind,
  OperationTypeNode,
  parse,
  validate,
  visit,
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import { variableTypesOf, type VariableTypes } from './words.ts';

export interface Operation {
  readonly document: DocumentNode;
  readonly isMutation: boolean;
  readonly variableTypes: VariableTypes;
  /** Of a plugin's row: the schema for which it was checked, and with which it runs. Absent: the product's own document. */
  readonly schema?: GraphQLSchema;
}

export type Documents = ReadonlyMap<string, Operation>;

/** Every operation of the facade as a document with its fragments. Throws on any fault. */
export function loadDocuments(schema: GraphQLSchema, folder: string = import.meta.dirname): Documents {
  const definitions = definitionsIn(folder);
  const fragments = new Map(
    definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );
  const documents = new Map<string, Operation>();
  for (const operation of definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)) {
    const name = operation.name?.value;
    if (name === undefined) throw new Error('An operation of the REST facade has no name.');
    if (documents.has(name)) throw new Error(`Two operations of the REST facade are called ${name}.`);
    documents.set(name, {
      document: checked(documentOf(operation, fragments), schema),
      isMutation: operation.operation === OperationTypeNode.MUTATION,
      variableTypes: variableTypesOf(operation, schema),
    });
  }
  return documents;
}

function definitionsIn(folder: string): DefinitionNode[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.graphql'));
  return files
    .toSorted()
    .flatMap((name) => parse(readFileSync(path.join(folder, name), 'utf8'), { noLocation: true }).definitions);
}

function documentOf(
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): DocumentNode {
  const used = new Map<string, FragmentDefinitionNode>();
  const collect = (node: OperationDefinitionNode | FragmentDefinitionNode) => {
    visit(node, {
      FragmentSpread: ({ name }) => {
        const fragment = fragments.get(name.value);
        if (!fragment || used.has(name.value)) return;
        used.set(name.value, fragment);
        collect(fragment);
      },
    });
  };
  collect(operation);
  return { kind: Kind.DOCUMENT, definitions: [operation, ...used.values()] };
}

function checked(document: DocumentNode, schema: GraphQLSchema): DocumentNode {
  const faults = validate(schema, document);
  if (faults.length === 0) return document;
  const [operation] = document.definitions;
  const name = operation?.kind === Kind.OPERATION_DEFINITION ? operation.name?.value : undefined;
  throw new Error(`The operation ${name} does not fit the schema: ${faults.map((fault) => fault.message).join(' ')}`);
}
