/**
 * The contract as an OpenAPI 3.1 document, made from the rows only: the parameters of a row are found by letting it read, its
 * answer is the shape that it names. The tests compare every answer with this document.
 */
import { BODY_BYTES_MAX, LARGE_BODY_BYTES_MAX, STRANGERS_BODY_BYTES_MAX } from '../lib/bounded-body.ts';
import { NAME_LENGTH_MAX, PARAMETERS_MAX } from './request-parameters.ts';
import type { Examples } from './examples.ts';
import { IGNORED_COMPONENT, refusalComponents, responsesOf } from './openapi-answers.ts';
import { bodyOf, parametersIn } from './openapi-parameters.ts';
import { openSchemaBook, type JsonSchema, type SchemaBook } from './openapi-schemas.ts';
import { parametersOf } from './row-parameters.ts';
import type { Method, Row, View } from './row.ts';

export interface OpenApiOptions {
  readonly rows: readonly Row[];
  /** The prefix of all rows: `/api/v1`. */
  readonly prefix: string;
  readonly product: View['product'];
  readonly examples: Examples;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
  readonly [name: string]: unknown;
}

/** The document. */
export async function openApiOf({ rows, prefix, product, examples }: OpenApiOptions): Promise<OpenApiDocument> {
  const book = openSchemaBook();
  const paths: Record<string, Record<string, JsonSchema>> = {};
  const tags = new Set<string>();
  for (const row of rows) {
    const path = openApiPath(row.path);
    for (const method of [row.method].flat()) {
      const operations = (paths[path] ??= {});
      if (operations[method.toLowerCase()]) throw new Error(`Two rows answer ${method} ${row.path}.`);
      operations[method.toLowerCase()] = await operationOf({ row, method, examples }, book);
      tags.add(chapterOf(row.path));
    }
  }
  const responses = refusalComponents(book);
  return {
    openapi: '3.1.0',
    info: {
      title: `${product.name} REST API`,
      version: product.version,
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Without a host: it is where the document came from.
    servers: [{ url: new URL(product.baseUrl + prefix).pathname }],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: {
      schemas: book.named(),
      responses,
      headers: { Ignored: IGNORED_COMPONENT },
      parameters: { Dialect: DIALECT, IdempotencyKey: IDEMPOTENCY_KEY },
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** `/lists/:uid` -> `/lists/{uid}`. */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

const INTRODUCTION = `Parameters may come in the query, as JSON, as a form or as multipart, on every method; the body wins, \
and \`contact[company]\` nests in all of them. \
An index of the standard dialect refuses a parameter that it does not know; every other call ignores it and says so, in the header \
\`X-Ignored-Parameters\` and, if it changes something, in \`ignored\`. Names that begin with \`_\` are free. A request may have \
${PARAMETERS_MAX} parameters, whose names have at most ${NAME_LENGTH_MAX} characters; a body without files at most \
${STRANGERS_BODY_BYTES_MAX / 1024} KB, and ${BODY_BYTES_MAX / 1024 / 1024} MB with a valid token in the \`Authorization\` header, the query or the beginning of the body (${LARGE_BODY_BYTES_MAX / 1024 / 1024} MB as JSON or form where html of a campaign comes in). Times are UTC, \`YYYY-MM-DD HH:MM:SS\`. \
Flags may be written 1/0, true/false, yes/no, on/off.

A list answers in pages: \`page\` from 1, \`per_page\` at most 1000; past the end is an empty page.

There are two dialects. \`standard\` answers 201 to a create and a paginator to an index; \`classic\`, for older clients, answers \
200 and a bare array. The header \`X-Api-Dialect\` chooses, else the token's own setting, else the installation's.`;

const DIALECT = {
  name: 'X-Api-Dialect',
  in: 'header',
  description: 'Form of the answers. Default: the setting of the token, then that of the installation.',
  schema: { type: 'string', enum: ['standard', 'classic'] },
};

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Of all calls with the same key and token only one runs, and all get its answer, for 24 hours.',
  schema: { type: 'string', maxLength: 255 },
};

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API token of 60 letters and digits.' },
  api_token: {
    type: 'apiKey',
    in: 'query',
    name: 'api_token',
    description: 'The same token, if the client cannot set a header.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-mailwright_session',
    description:
      'The cookie of a session (GraphQL: `signIn`), for uploads from a page of the installation itself. The browser has to name this page, by `Origin` or `Sec-Fetch-Site`: requests of other sites are refused. Without https the name is `mailwright_session`.',
  },
};

interface Part {
  readonly row: Row;
  readonly method: Method;
  readonly examples: Examples;
}

async function operationOf({ row, method, examples }: Part, book: SchemaBook): Promise<JsonSchema> {
  const parameters = await parametersOf(row);
  const example = examples[`${method} ${row.path}`];
  const id = operationId(method, row.path);
  const taken = { operationId: id, row, method, parameters, example };
  const body = bodyOf(taken, book);
  const admin = row.access === 'admin' ? ['Needs the token of an administrator.'] : [];
  const description = [...(row.details === undefined ? [] : [row.details]), ...admin].join(' ');
  return {
    operationId: id,
    tags: [chapterOf(row.path)],
    summary: row.summary,
    ...(description === '' ? {} : { description }),
    parameters: [...parametersIn(taken), ...headersOf(row, method)],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: responsesOf(taken, book),
    security: securityOf(row),
    'x-access': row.access,
  };
}

function securityOf({ access, takesFile }: Row): JsonSchema[] {
  if (access === 'public') return [];
  return [{ bearer: [] }, { api_token: [] }, ...(takesFile ? [{ session: [] }] : [])];
}

function headersOf(row: Row, method: Method): JsonSchema[] {
  const names = method === 'POST' && row.operations.length > 0 ? ['Dialect', 'IdempotencyKey'] : ['Dialect'];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** `POST /lists/:uid/add-field` -> `postListsByUidAddField`: readable, and stable when rows are added. */
function operationId(method: Method, path: string): string {
  const words = path.split('/').flatMap((part) => (part.startsWith(':') ? ['by', part.slice(1)] : [part]));
  const named = words.flatMap((word) => word.split(/[^a-z0-9]+/i)).filter((word) => word !== '');
  return [method.toLowerCase(), ...(named.length > 0 ? named : ['root'])]
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
}

/** Chapters by the subject of a path; another resource is a chapter named by its first word. */
const CHAPTERS: readonly (readonly [RegExp, string])[] = [
  [/^\/($|me|user|login)/, 'Session'],
  [/subscribers/, 'Subscribers'],
  [/^\/lists\/.*\/imports?(\/|$)/, 'Imports'],
  [/^\/notification/, 'Notifications'],
  [/plan|subscription/, 'Plans and subscriptions'],
  [/^\/countries|^\/lists/, 'Lists'],
  [/^\/built_in_templates/, 'Templates'],
];

/** The chapter of the reference for a row. */
export function chapterOf(path: string): string {
  const known = CHAPTERS.find(([pattern]) => pattern.test(path))?.[1];
  if (known !== undefined) return known;
  const [first = ''] = path.split('/').filter((part) => part !== '');
  const words = first.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
