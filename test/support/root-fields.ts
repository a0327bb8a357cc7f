/** Every root field of the schema as a document over HTTP: for the tests that walk queries and mutations alike. */
import {
  getNamedType,
  getNullableType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  isUnionType,
  type GraphQLField,
  type GraphQLOutputType,
} from 'graphql';
import { buildSchema } from '../../src/schema/build-schema.ts';
import { rightArguments, type Values } from './mutation-world.ts';
import type { RestApp } from './rest-app.ts';
import type { World } from './rest-world.ts';

export interface RootField {
  readonly kind: 'query' | 'mutation';
  readonly field: GraphQLField<unknown, unknown>;
  /** Of its declaration. */
  readonly scopes: string;
}

export interface RootAnswer {
  readonly status: number;
  readonly text: string;
  /** Codes of refusals, as members of a union or as errors; empty: it was not refused. */
  readonly codes: readonly string[];
}

const schema = buildSchema();
/** Objects within objects that are asked for. */
const DEPTH_MAX = 3;

/** All of them but `node`-like helpers of the frame. */
export const rootFields: readonly RootField[] = [
  ...Object.values(schema.getQueryType()?.getFields() ?? {}).map((field) => rootField('query', field)),
  ...Object.values(schema.getMutationType()?.getFields() ?? {}).map((field) => rootField('mutation', field)),
];

function rootField(kind: RootField['kind'], field: GraphQLField<unknown, unknown>): RootField {
  const options: unknown = Reflect.get(field.extensions, 'pothosOptions');
  const scopes = typeof options === 'object' && options !== null ? Reflect.get(options, 'authScopes') : undefined;
  return { kind, field, scopes: JSON.stringify(scopes) ?? '' };
}

/** Right arguments of the field in this world. */
export function argumentsIn(world: World, { kind, field }: RootField): Values {
  if (kind === 'mutation') return rightArguments(field, world);
  const name = `get${field.name.charAt(0).toUpperCase()}${field.name.slice(1)}`;
  const given = rightArguments({ args: field.args, name }, world);
  return Object.fromEntries(
    // `extensionSlots` takes the name of a page.
    Object.entries(given).filter(
      ([key]) => !['after', 'before', 'last', ...(given.slot ? [] : ['page'])].includes(key),
    ),
  );
}

/** Runs it with everything it can show, three objects deep. */
export async function runRootField(
  app: RestApp,
  { kind, field }: RootField,
  { values, token }: { values: Values; token: string | null },
): Promise<RootAnswer> {
  const used = field.args.filter(({ name }) => values[name] !== undefined);
  const declared = used.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ');
  const passed = used.map(({ name }) => `${name}: $${name}`).join(', ');
  const call = passed === '' ? field.name : `${field.name}(${passed})`;
  const query = `${kind}${declared === '' ? '' : ` (${declared})`} { ${call}${selectionOf(field.type, DEPTH_MAX)} }`;
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(token === null ? {} : { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query, variables: values }),
  });
  const text = await response.text();
  const { data, errors = [] } = JSON.parse(text);
  const result: unknown = data?.[field.name];
  const inData = isRefusal(result) ? [result.code] : refusedRows(result);
  const thrown = errors.map((error: { extensions?: { code?: string } }) => String(error.extensions?.code));
  return { status: response.status, text, codes: [...inData, ...thrown] };
}

function selectionOf(type: GraphQLOutputType, depth: number): string {
  const named = getNamedType(type);
  if (isLeafType(named)) return '';
  if (isUnionType(named)) {
    const members = named.getTypes().filter((member) => !member.name.endsWith('Error'));
    const inner = members.map((member) => `... on ${member.name}${selectionOf(member, depth)}`).join(' ');
    return ` { __typename ... on Error { message code } ${inner} }`;
  }
  if (!isObjectType(named) && !isInterfaceType(named)) return '';
  const parts = Object.values(named.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type);
    if (field.args.some(({ type: argument, defaultValue }) => isNeeded(String(argument), defaultValue))) return [];
    if (isLeafType(inner)) return isForAdministrators(field) ? [] : [field.name];
    if (depth <= 1 || (isListType(getNullableType(field.type)) && depth < DEPTH_MAX)) return [];
    const size = field.args.some(({ name }) => name === 'first') ? '(first: 2)' : '';
    return [`${field.name}${size}${selectionOf(field.type, depth - 1)}`];
  });
  return ` { __typename ${parts.filter((part) => !/\{ __typename \s*\}$/.test(part)).join(' ')} }`;
}

/** A member that others may not read. */
function isForAdministrators({ extensions }: GraphQLField<unknown, unknown>): boolean {
  const options: unknown = Reflect.get(extensions, 'pothosOptions');
  const scopes: unknown =
    typeof options === 'object' && options !== null ? Reflect.get(options, 'authScopes') : undefined;
  return typeof scopes === 'object' && scopes !== null && Reflect.get(scopes, 'admin') === true;
}

function isNeeded(type: string, defaultValue: unknown): boolean {
  return type.endsWith('!') && defaultValue === undefined;
}

/** Codes of an answer that is given row by row, if no row of it was accepted. */
function refusedRows(result: unknown): readonly string[] {
  const rows: unknown = typeof result === 'object' && result !== null && 'answers' in result ? result.answers : [];
  const codes = Array.isArray(rows) ? rows.map(({ code }: { readonly code: string | null }) => code) : [];
  return codes.flatMap((code) => (code === null || codes.includes(null) ? [] : [code]));
}

function isRefusal(value: unknown): value is { readonly code: string } {
  const type: unknown = typeof value === 'object' && value !== null && '__typename' in value ? value.__typename : '';
  return typeof type === 'string' && type.endsWith('Error');
}
