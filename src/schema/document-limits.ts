/** Refuses documents that cost too much: first by text and shape, then with their variables. */
import {
  GraphQLError,
  Kind,
  parse,
  visit,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import {
  ALIASES_MAX,
  COST_MAX,
  DEPTH_MAX,
  DIRECTIVES_MAX,
  DOCUMENT_CHARACTERS_MAX,
  FIELDS_UNFOLDED_MAX,
  FIELDS_WRITTEN_MAX,
  FIRST_MAX,
  FRAGMENTS_MAX,
  INTROSPECTION_DEPTH_MAX,
  ROOT_FIELDS_MAX,
  TOKENS_MAX,
  VARIABLE_DEPTH_MAX,
} from './limits.ts';
import { measureOperation, type Measure } from './measure-document.ts';

/** Parses a document and checks its shape; throws a GraphQLError that names the limit. */
export function parseWithinLimits(schema: GraphQLSchema, text: string): DocumentNode {
  refuseAbove('characters', text.length, DOCUMENT_CHARACTERS_MAX);
  const document = parseText(text);
  checkWriting(document);
  for (const operation of operationsOf(document)) {
    refuseAbove('root fields', operation.selectionSet.selections.length, ROOT_FIELDS_MAX);
    checkMeasure(measureOperation(schema, { document, operation }));
  }
  return document;
}

/** The parser is recursive: a value of thousands of levels overflows the stack before the limit of tokens. */
function parseText(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: TOKENS_MAX });
  } catch (error) {
    if (error instanceof RangeError) throw limitError('The document is nested too deeply.');
    throw error;
  }
}

export interface OperationToCheck {
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Checks the cost of the operation with its variables; throws a GraphQLError. */
export function checkCost(schema: GraphQLSchema, { document, operationName, variables }: OperationToCheck): Measure {
  if (isDeeper(variables, VARIABLE_DEPTH_MAX))
    throw limitError(`Variables may be nested ${VARIABLE_DEPTH_MAX} levels deep.`);
  const operations = operationsOf(document);
  const named = operations.filter((one) => !operationName || one.name?.value === operationName);
  const [operation] = named;
  if (!operation || named.length > 1) throw noOperation();
  const measure = measureOperation(schema, { document, operation, variables: variables ?? undefined });
  checkMeasure(measure);
  return measure;
}

/** Level by level, not recursive: the depth could overflow the stack. */
function isDeeper(variables: unknown, levelsMax: number): boolean {
  let level: unknown[] = [variables];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levelsMax) return true;
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
  return false;
}

function checkMeasure(measure: Measure): void {
  refuseAbove('levels', measure.depth, DEPTH_MAX);
  refuseAbove('levels of introspection', measure.introspectionDepth, INTROSPECTION_DEPTH_MAX);
  refuseAbove('fields', measure.fields, FIELDS_UNFOLDED_MAX);
  refuseAbove('rows in `first` or `last`', measure.firstMax, FIRST_MAX);
  refuseAbove('values', measure.cost, COST_MAX);
}

function checkWriting(document: DocumentNode): void {
  let fields = 0;
  let aliases = 0;
  let directives = 0;
  let levels = 0;
  // A deeper value would be printed into a message, in quadratic time.
  const level = {
    enter: () => {
      levels++;
      if (levels > VARIABLE_DEPTH_MAX)
        throw limitError(`Values and types may be nested ${VARIABLE_DEPTH_MAX} levels deep.`);
    },
    leave: () => {
      levels--;
    },
  };
  visit(document, {
    ListValue: level,
    ObjectValue: level,
    ListType: level,
    Field: (node) => {
      fields++;
      if (node.alias) aliases++;
    },
    Directive: () => {
      directives++;
    },
  });
  refuseAbove('written fields', fields, FIELDS_WRITTEN_MAX);
  refuseAbove('aliases', aliases, ALIASES_MAX);
  refuseAbove('directives', directives, DIRECTIVES_MAX);
  refuseAbove('definitions', document.definitions.length, FRAGMENTS_MAX);
}

function operationsOf(document: DocumentNode): OperationDefinitionNode[] {
  return document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
}

function refuseAbove(what: string, count: number, max: number): void {
  if (count > max) throw limitError(`The document asks for too much: ${count} ${what}, at most ${max} are allowed.`);
}

function limitError(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'DOCUMENT_TOO_EXPENSIVE', http: { status: 400 } } });
}

/** With the code that Yoga has for it. */
function noOperation(): GraphQLError {
  const message = 'The document has no such operation, or several and `operationName` does not say which.';
  return new GraphQLError(message, { extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } });
}
