/** The REST interface: its rows, its OpenAPI document, the JSON Schema of flows, and its reference with the script that tries requests. */
import { flowJsonSchema } from '../domain/automations/flow/flow-json-schema.ts';
import { sessionOf } from '../domain/accounts/session-cookie.ts';
import { assetMount } from '../http/asset-mount.ts';
import { crossOrigin } from '../http/cross-origin.ts';
import type { Mount } from '../http/http-server.ts';
import { readExamples } from '../rest-facade/examples.ts';
import { openApiOf } from '../rest-facade/openapi.ts';
import { REFERENCE_POLICY, restReference } from '../rest-facade/reference.ts';
import { createRestHandler, type RestHandler, type RestHandlerOptions } from '../rest-facade/rest-handler.ts';
import { TRY_REQUEST } from '../rest-facade/try-request.ts';
import type { RowsInUse } from './plugin-rows.ts';
import { version } from './version.ts';

export const REFERENCE_PATH = '/docs';
export const GRAPHQL_REFERENCE_PATH = '/docs/graphql';
const REST_PREFIX = '/api/v1';
const FLOW_SCHEMA_PATH = `${REST_PREFIX}/flow.schema.json`;
/** Called by forms on pages anywhere (decision D59). */
const PUBLIC_PREFIX = `${REST_PREFIX}/public/`;

/** All mounts, in the order in which paths are tried. */
export function restMounts(
  options: Pick<RestHandlerOptions, 'execute' | 'dialect' | 'countRequest' | 'idempotentCalls'> & {
    /** The rows with those of plugins; another object after each change. */
    readonly rowsInUse: () => RowsInUse;
    readonly baseUrl: string;
    /** Pages of these origins may call everything. */
    readonly origins: readonly string[];
    /** Whether anybody may read the GraphQL schema. */
    readonly hasGraphqlReference: boolean;
  },
): Mount[] {
  const product = { name: 'Mailwright', version: version(), baseUrl: options.baseUrl };
  const shared = { prefix: REST_PREFIX, product };
  const { rowsInUse } = options;
  const script = `${REFERENCE_PATH}/try-request.js`;
  // Made at the first request: most processes never get one.
  const makeDocument = () => openApiOf({ ...shared, rows: rowsInUse().rows, examples: readExamples() });
  const read = async () => JSON.stringify(await makeDocument());
  const graphqlPath = options.hasGraphqlReference ? GRAPHQL_REFERENCE_PATH.slice(1) : null;
  const readPage = async () =>
    restReference({
      ...{ document: await makeDocument(), prefix: REST_PREFIX, product },
      ...{ script: script.slice(1), graphqlPath },
    });
  const allowed = (path: string) => (path.startsWith(PUBLIC_PREFIX) ? 'all' : options.origins);
  const handle = currentHandler(rowsInUse, (inUse) =>
    createRestHandler({
      ...{ ...shared, ...options, ...inUse },
      sessionOf: (headers) => sessionOf(headers, options.baseUrl),
    }),
  );
  return [
    crossOrigin(
      assetMount({
        path: `${REST_PREFIX}/openapi.json`,
        contentType: 'application/json; charset=utf-8',
        read,
        madeFrom: rowsInUse,
      }),
      allowed,
    ),
    crossOrigin(
      assetMount({
        ...{ path: FLOW_SCHEMA_PATH, contentType: 'application/schema+json; charset=utf-8' },
        read: () => JSON.stringify(flowJsonSchema(`${options.baseUrl}${FLOW_SCHEMA_PATH}`)),
      }),
      allowed,
    ),
    crossOrigin({ prefix: REST_PREFIX, handle }, allowed),
    assetMount({
      ...{ path: REFERENCE_PATH, contentType: 'text/html; charset=utf-8', policy: REFERENCE_POLICY, read: readPage },
      madeFrom: rowsInUse,
    }),
    assetMount({ path: script, contentType: 'text/javascript; charset=utf-8', read: () => TRY_REQUEST }),
  ];
}

/** A handler for the rows as they are when a request begins. */
function currentHandler(rowsInUse: () => RowsInUse, make: (inUse: RowsInUse) => RestHandler): RestHandler {
  let made: { readonly inUse: RowsInUse; readonly handle: RestHandler } | undefined;
  return (req, res, exchange) => {
    const inUse = rowsInUse();
    if (made?.inUse !== inUse) made = { inUse, handle: make(inUse) };
    return made.handle(req, res, exchange);
  };
}
