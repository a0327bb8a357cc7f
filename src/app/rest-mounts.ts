/** The REST interface: its rows, its OpenAPI document, and its reference with the viewer's files. */
import { assetMount } from '../http/asset-mount.ts';
import type { Mount } from '../http/http-server.ts';
import { pageMount } from '../http/page-mount.ts';
import { readExamples } from '../rest-facade/examples.ts';
import { openApiOf } from '../rest-facade/openapi.ts';
import { restReference } from '../rest-facade/reference.ts';
import { VIEWER_POLICY, viewerFiles } from '../rest-facade/reference-viewer.ts';
import { createRestHandler, type RestHandlerOptions } from '../rest-facade/rest-handler.ts';
import { rows } from '../rest-facade/rows.ts';
import { version } from './version.ts';

export const REFERENCE_PATH = '/docs';
const REST_PREFIX = '/api/v1';

/** All mounts, in the order in which paths are tried. */
export async function restMounts(
  options: Pick<RestHandlerOptions, 'documents' | 'execute' | 'dialect' | 'countRequest' | 'idempotentCalls'> & {
    readonly baseUrl: string;
  },
): Promise<Mount[]> {
  const product = { name: 'Mailwright', version: version(), baseUrl: options.baseUrl };
  const shared = { rows, prefix: REST_PREFIX, product };
  const page = await restReference({ ...shared, folder: REFERENCE_PATH.slice(1) });
  // Made at the first request: most processes never get one.
  const read = () => openApiOf({ ...shared, examples: readExamples() }).then((made) => JSON.stringify(made));
  return [
    assetMount({ path: `${REST_PREFIX}/openapi.json`, contentType: 'application/json; charset=utf-8', read }),
    { prefix: REST_PREFIX, handle: createRestHandler({ ...shared, ...options }) },
    pageMount(REFERENCE_PATH, page, VIEWER_POLICY),
    ...viewerFiles.map((file) => assetMount({ ...file, path: `${REFERENCE_PATH}/${file.name}` })),
  ];
}
