/** The parameters of a row for OpenAPI: in path and query, or in the body. */
import type { Example } from './examples.ts';
import type { JsonSchema, SchemaBook } from './openapi-schemas.ts';
import type { ParameterKind, RowParameter } from './row-parameters.ts';
import type { Method, Row } from './row.ts';

export interface Taken {
  readonly operationId: string;
  readonly row: Row;
  readonly method: Method;
  readonly parameters: readonly RowParameter[];
  readonly example: Example | undefined;
}

interface Kind {
  readonly schema: JsonSchema;
  readonly about?: string;
}

const KINDS: Readonly<Record<ParameterKind, Kind>> = {
  text: { schema: { type: 'string' } },
  integer: { schema: { type: 'integer' } },
  flag: { schema: { type: 'boolean' }, about: 'Also 1 and 0, `yes` and `no`, `on` and `off`.' },
  time: { schema: { type: 'string' }, about: 'UTC, `YYYY-MM-DD HH:MM:SS`, or ISO 8601.' },
  object: { schema: { type: 'object', additionalProperties: true } },
  file: { schema: { type: 'string', contentMediaType: 'application/octet-stream' } },
  any: { schema: {} },
};

const SLOTS: Readonly<Record<string, string>> = {
  email: "The person's address, plain or percent-encoded.",
  id: 'Id, uid or address of the subscriber.',
};

/** Methods whose parameters are expected in the query; all others have a body. */
const IN_QUERY: readonly Method[] = ['GET', 'DELETE'];

/** The parameters of the path, and of the query where the method has no body. */
export function parametersIn({ row, method, parameters, example }: Taken): JsonSchema[] {
  const slots = [...row.path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    ...(SLOTS[name] === undefined ? {} : { description: SLOTS[name] }),
  }));
  if (!IN_QUERY.includes(method)) return slots;
  const { properties, required } = fields(parameters, row.required ?? []);
  const query = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    ...(schema['type'] === 'object' ? { style: 'deepObject', explode: true } : {}),
    ...split(schema),
    ...(example?.parameters?.[name] === undefined ? {} : { example: example.parameters[name] }),
  }));
  return [...slots, ...query];
}

/** The body, or undefined when none is expected. All of it may also be in the query (decision D3). */
export function bodyOf(taken: Taken, book: SchemaBook): JsonSchema | undefined {
  const { row, method, parameters } = taken;
  if (IN_QUERY.includes(method) || parameters.length === 0) return undefined;
  const { properties, required } = fields(parameters, row.required ?? []);
  const { file, ...plain } = properties;
  const needed = required.length > 0 ? { required } : {};
  const shared = () =>
    book.share(`${taken.operationId.replace(/^./, (first) => first.toUpperCase())}Body`, {
      type: 'object',
      properties: plain,
      ...needed,
    });
  const withoutFile = required.includes('file') ? {} : plainBodies(shared(), properties, taken.example);
  const schema = file === undefined ? shared() : { type: 'object', properties, ...needed };
  return {
    required: required.length > 0,
    content: { ...withoutFile, 'multipart/form-data': { schema, ...encodingOf(properties) } },
  };
}

function plainBodies(schema: JsonSchema, properties: Fields['properties'], example: Example | undefined): JsonSchema {
  const shown = example?.parameters === undefined ? {} : { example: example.parameters };
  return {
    'application/json': { schema, ...shown },
    'application/x-www-form-urlencoded': { schema, ...encodingOf(properties) },
  };
}

/** Forms use brackets for nesting. */
function encodingOf(properties: Fields['properties']): JsonSchema {
  const nested = Object.entries(properties).filter(([, { type }]) => type === 'object');
  if (nested.length === 0) return {};
  return { encoding: Object.fromEntries(nested.map(([name]) => [name, { style: 'deepObject', explode: true }])) };
}

interface Fields {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
}

/** One property per parameter; `contact[company]` is a property of the object `contact`. */
function fields(parameters: readonly RowParameter[], required: readonly string[]): Fields {
  const properties: Record<string, JsonSchema> = {};
  for (const [head, own] of Map.groupBy(parameters, ({ names }) => headOf(names[0] ?? ''))) {
    const inner = own.filter(({ names }) => names[0] !== head);
    const [first] = own;
    if (inner.length > 0) {
      const names = required.filter((name) => name.startsWith(`${head}[`)).map(innerOf);
      properties[head] = {
        type: 'object',
        properties: Object.fromEntries(inner.map((one) => [innerOf(one.names[0] ?? ''), schemaOf(one)])),
        ...(names.length > 0 ? { required: names } : {}),
      };
    } else if (first) properties[head] = schemaOf(first);
  }
  return { properties, required: [...new Set(required.map(headOf))] };
}

function schemaOf({ names: [, ...others], kind, words }: RowParameter): JsonSchema {
  const { schema: general, about } = KINDS[kind];
  const schema = words === undefined ? general : { ...general, enum: words };
  const spellings = others.map((name) => `\`${name}\``).join(' or ');
  const said = [...(about === undefined ? [] : [about]), ...(spellings === '' ? [] : [`Also taken as ${spellings}.`])];
  return said.length === 0 ? schema : { ...schema, description: said.join(' ') };
}

/** The description of a query parameter stands beside its schema. */
function split({ description, ...schema }: JsonSchema): JsonSchema {
  return description === undefined ? { schema } : { description, schema };
}

function headOf(name: string): string {
  return name.split('[', 1)[0] ?? name;
}

function innerOf(name: string): string {
  return name.slice(name.indexOf('[') + 1, -1);
}
