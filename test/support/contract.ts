/**
 * Holds answers against the OpenAPI document: a status that is not documented for the row, or a body of another shape, is
 * a fault. Made once per test file, from the rows as they are.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import Router from 'find-my-way';
import { openApiOf, openApiPath, type OpenApiDocument } from '../../src/rest-facade/openapi.ts';
import type { JsonSchema } from '../../src/rest-facade/openapi-schemas.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import { rows } from '../../src/rest-facade/rows.ts';

export interface Exchange {
  readonly method: string;
  /** Below `/api/v1`, with its query. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string;
  /** Parsed, when it is JSON. */
  readonly body: unknown;
}

export interface Contract {
  readonly document: OpenApiDocument;
  /** What is wrong with the answer, in one sentence; undefined: nothing. */
  faultOf(exchange: Exchange): string | undefined;
}

const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] as const;

let made: Promise<Contract> | undefined;

/** The contract of all rows. */
export function theContract(): Promise<Contract> {
  made ??= make();
  return made;
}

async function make(): Promise<Contract> {
  const product = { name: 'Mailwright', version: '0', baseUrl: 'http://localhost' };
  const document = await openApiOf({ rows, prefix: '/api/v1', product, examples: {} });
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false });
  ajv.addSchema(document, 'contract');
  const router = routerOfRows();
  const validators = new Map<string, ValidateFunction>();
  return {
    document,
    faultOf(exchange) {
      const method = METHODS.find((name) => name === (exchange.method === 'HEAD' ? 'GET' : exchange.method));
      const found = method && router.find(method, exchange.path.split('?', 1)[0] || '/');
      const row: Row | undefined = found?.store;
      if (!method || !row) return exchange.status === 404 ? undefined : 'There is no such row.';
      const at = ['paths', openApiPath(row.path), method.toLowerCase(), 'responses'];
      const response = resolved(document, lookUp(document, [...at, String(exchange.status)]));
      if (!response) return `The status ${exchange.status} is not documented.`;
      if (exchange.method === 'HEAD') return undefined;
      const type = exchange.contentType.split(';', 1)[0] ?? '';
      const media = lookUp(response, ['content', type]);
      if (!media) return `The content type ${type} is not documented.`;
      if (type !== 'application/json') return undefined;
      const key = [...at, String(exchange.status)].join(' ');
      const validate = validators.get(key) ?? compiled(ajv, lookUp(media, ['schema']));
      validators.set(key, validate);
      if (validate(exchange.body)) return undefined;
      return ajv.errorsText(validate.errors, { dataVar: 'body' });
    },
  };
}

function routerOfRows() {
  const router = Router({ ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 10_000 });
  for (const row of rows) router.on([row.method].flat(), row.path, () => undefined, row);
  return router;
}

/** References are the document's own. */
function compiled(ajv: Ajv2020, schema: unknown): ValidateFunction {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"contract#/');
  return ajv.compile(JSON.parse(text));
}

function resolved(document: OpenApiDocument, response: JsonSchema | undefined): JsonSchema | undefined {
  const ref = response?.['$ref'];
  return typeof ref === 'string' ? lookUp(document, ref.slice(2).split('/')) : response;
}

function lookUp(from: unknown, path: readonly string[]): JsonSchema | undefined {
  let at: unknown = from;
  for (const step of path) at = isObject(at) ? at[step] : undefined;
  return isObject(at) ? at : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
