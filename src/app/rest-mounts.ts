/** The REST interface: its rows, its OpenAPI document, and its reference with the viewer's files. */
import { assetMount } from '../http/asset-mount.ts';
import { crossOrigin } from '../http/cross-origin.ts';
import type { Mount } from '../http/http-server.ts';
import { pageMount } from '../http/page-mount.ts';
import { readExamples } from '../rest-facade/examples.ts';
import { openApiOf } from '../rest-facade/openapi.ts';
import { restReference } from '../rest-facade/reference.ts';
import { VIEWER_POLICY, viewerFiles } from '../rest-facade/reference-viewer.ts';
import { createRestHandler, type RestHandlerOptions } from '../rest-facade/rest-handler.ts';
import { rows } from '../rest-facade/rows.ts';
import { unbuiltRows } from '../rest-facade/unbuilt-rows.ts';
import { version } from './version.ts';

export const REFERENCE_PATH = '/docs';
const REST_PREFIX = '/api/v1';
/** Called by forms on pages anywhere (decision D59). */
const PUBLIC_PREFIX = `${REST_PREFIX}/public/`;

/** All mounts, in the order in which paths are tried. */
export async function restMounts(
  options: Pick<RestHandlerOptions, 'documents' | 'execute' | 'dialect' | 'countRequest' | 'idempotentCalls'> & {
    readonly baseUrl: string;
    /** Pages of these origins may call everything. */
    readonly origins: readonly string[];
  },
): Promise<Mount[]> {
  const product = { name: 'Mailwright', version: version(), baseUrl: options.baseUrl };
  const shared = { rows, prefix: REST_PREFIX, product };
  const page = await restReference({ ...shared, folder: REFERENCE_PATH.slice(1) });
  // Made at the first request: most processes never get one.
  const read = () => openApiOf({ ...shared, examples: readExamples() }).then((made) => JSON.stringify(made));
  const allowed = (path: string) => (path.startsWith(PUBLIC_PREFIX) ? 'all' : options.origins);
  return [
    crossOrigin(
      assetMount({ path: `${REST_PREFIX}/openapi.json`, contentType: 'application/json; charset=utf-8', read }),
      allowed,
    ),
    crossOrigin({ prefix: REST_PREFIX, handle: createRestHandler({ ...shared, ...options, unbuiltRows }) }, allowed),
    pageMount(REFERENCE_PATH, page, VIEWER_POLICY),
    ...viewerFiles.map((file) => assetMount({ ...file, path: `${REFERENCE_PATH}/${file.name}` })),
  ];
}
