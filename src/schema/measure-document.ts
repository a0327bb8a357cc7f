/**
 * What a document would cost, measured before it is validated or run. Every fragment is measured once however often it is spread,
 * so the work is linear in the text.
 */
import {
  getNamedType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { FIRST_DEFAULT, LIST_LENGTH_GUESSED } from './limits.ts';

export interface Measure {
  readonly depth: number;
  /** Depth below `__schema` and `__type`, which is counted separately. */
  readonly introspectionDepth: number;
  /** Fields with every fragment spread expanded. */
  readonly fields: number;
  /** Values answered at most, by the size arguments. */
  readonly cost: number;
  /** Those of the errors, which come once and instead of the others. */
  readonly errorCost: number;
  /** Largest size argument (`first`, `last`) of a connection. */
  readonly firstMax: number;
}

interface Survey {
  readonly schema: GraphQLSchema;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly measured: Map<string, Measure>;
}

type Variables = Readonly<Record<string, unknown>> | undefined;

const NOTHING: Measure = { depth: 0, introspectionDepth: 0, fields: 0, cost: 0, errorCost: 0, firstMax: 0 };

/** Measures one operation. Size arguments given by unknown variables count as 1; unknown fields count without type. */
export function measureOperation(
  schema: GraphQLSchema,
  {
    document,
    operation,
    variables,
  }: { document: DocumentNode; operation: OperationDefinitionNode; variables?: Variables },
): Measure {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  const survey = { schema, fragments, measured: new Map(), variables: { ...defaultsOf(operation), ...variables } };
  return measureSelections(survey, operation.selectionSet, schema.getRootType(operation.operation) ?? undefined);
}

function measureSelections(survey: Survey, set: SelectionSetNode, parent: GraphQLNamedType | undefined): Measure {
  return set.selections.reduce((sum, node) => add(sum, measureSelection(survey, node, parent)), NOTHING);
}

function measureSelection(survey: Survey, node: SelectionNode, parent: GraphQLNamedType | undefined): Measure {
  if (node.kind === Kind.FIELD) return measureField(survey, node, parent);
  if (node.kind === Kind.FRAGMENT_SPREAD) return measureFragment(survey, node.name.value);
  const condition = node.typeCondition && survey.schema.getType(node.typeCondition.name.value);
  return ofMember(condition, measureSelections(survey, node.selectionSet, condition ?? parent));
}

function measureFragment(survey: Survey, name: string): Measure {
  const known = survey.measured.get(name);
  if (known) return known;
  const fragment = survey.fragments.get(name);
  if (!fragment) return NOTHING;
  // A fragment that spreads itself gets this; validation reports the circle later.
  survey.measured.set(name, NOTHING);
  const type = survey.schema.getType(fragment.typeCondition.name.value);
  const measure = ofMember(type, measureSelections(survey, fragment.selectionSet, type));
  survey.measured.set(name, measure);
  return measure;
}

function measureField(survey: Survey, node: FieldNode, parent: GraphQLNamedType | undefined): Measure {
  const name = node.name.value;
  const field = fieldOf(parent, name);
  const inside = node.selectionSet
    ? measureSelections(survey, node.selectionSet, field && getNamedType(field.type))
    : NOTHING;
  if (name === '__schema' || name === '__type') {
    return { ...NOTHING, fields: inside.fields + 1, introspectionDepth: inside.depth + 1 };
  }
  const first = sizeArgument(survey, node, ['first', 'last']);
  const times = first ?? sizeArgument(survey, node, ['perPage']) ?? lengthGuessed(parent, field);
  return {
    depth: inside.depth + 1,
    introspectionDepth: inside.introspectionDepth,
    fields: inside.fields + 1,
    cost: 1 + times * inside.cost + inside.errorCost,
    errorCost: 0,
    firstMax: Math.max(first ?? 0, inside.firstMax),
  };
}

/** The size argument of a field counts for its value, not for the error that may stand in its place. */
function ofMember(type: GraphQLNamedType | undefined, measure: Measure): Measure {
  const isError =
    type?.name === 'Error' || (isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Error'));
  return isError ? { ...measure, cost: 0, errorCost: measure.cost + measure.errorCost } : measure;
}

function add(a: Measure, b: Measure): Measure {
  return {
    depth: Math.max(a.depth, b.depth),
    introspectionDepth: Math.max(a.introspectionDepth, b.introspectionDepth),
    fields: a.fields + b.fields,
    cost: a.cost + b.cost,
    errorCost: a.errorCost + b.errorCost,
    firstMax: Math.max(a.firstMax, b.firstMax),
  };
}

function fieldOf(parent: GraphQLNamedType | undefined, name: string): GraphQLField<unknown, unknown> | undefined {
  return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
}

function sizeArgument(survey: Survey, node: FieldNode, names: readonly string[]): number | undefined {
  const given = node.arguments?.find((argument) => names.includes(argument.name.value))?.value;
  if (!given) return undefined;
  const variable = given.kind === Kind.VARIABLE ? survey.variables[given.name.value] : undefined;
  const written = 'value' in given ? given.value : undefined;
  // A variable of another type is refused later; here it must not be converted.
  const size = typeof variable === 'number' || typeof variable === 'string' ? Number(variable) : Number(written ?? NaN);
  return Number.isFinite(size) ? Math.max(1, size) : 1;
}

/**
 * The assumed length of a list without a size: `extensions: { listLength }` of the field, or the default. The list inside a
 * connection or page was counted outside of it.
 */
function lengthGuessed(
  parent: GraphQLNamedType | undefined,
  field: GraphQLField<unknown, unknown> | undefined,
): number {
  if (!field) return 1;
  if (field.args.some((argument) => argument.name === 'first' || argument.name === 'perPage')) return FIRST_DEFAULT;
  const insideOfPage = parent !== undefined && /(Connection|Page)$/.test(parent.name);
  if (!isList(field.type) || insideOfPage) return 1;
  const { listLength } = field.extensions;
  return typeof listLength === 'number' ? listLength : LIST_LENGTH_GUESSED;
}

function isList(type: GraphQLOutputType): boolean {
  return isListType(isNonNullType(type) ? type.ofType : type);
}

function defaultsOf(operation: OperationDefinitionNode): Record<string, unknown> {
  const defaults = (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue && 'value' in defaultValue ? [[variable.name.value, defaultValue.value]] : [],
  );
  return Object.fromEntries(defaults);
}
