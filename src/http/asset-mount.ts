/** Serves one document that changes with the program's version or with plugins only: a page, a script, a description. */
import { preparePage, sendPreparedPage, type PreparedPage } from '../lib/prepared-page.ts';
import type { Mount } from './http-server.ts';
import { sendJson } from './send-json.ts';

export interface Asset {
  readonly path: string;
  readonly contentType: string;
  /** The Content-Security-Policy of a page. */
  readonly policy?: string;
  /** The document is made again when this is another object. */
  madeFrom?(): object;
  /** Called at the first request. */
  read(): Buffer | string | Promise<Buffer | string>;
}

/** Answers GET and HEAD at exactly this path; a client that has it already gets a 304. */
export function assetMount({ path, contentType, policy, madeFrom, read }: Asset): Mount {
  let page: Promise<PreparedPage> | undefined;
  let source: object | undefined;
  return {
    prefix: path,
    exact: true,
    async handle(req, res) {
      if (req.method !== 'GET' && req.method !== 'HEAD') {
        res.setHeader('Allow', 'GET, HEAD');
        // Not a 405: one of these is among the addresses of the REST interface, whose contract has none.
        return sendJson(res, 404, { message: 'Only GET is answered here.' });
      }
      const now = madeFrom?.();
      if (now !== source) page = undefined;
      source = now;
      page ??= Promise.resolve(read()).then((content) => preparePage(content, contentType));
      const prepared = await page.catch((error: unknown) => {
        page = undefined;
        throw error;
      });
      if (policy !== undefined) res.setHeader('Content-Security-Policy', policy);
      await sendPreparedPage(req, res, prepared);
    },
  };
}
