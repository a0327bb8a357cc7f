/**
 * Everything below `/plugins/<vendor>/<name>`: a section of Mailwright (`files`), or else the plugin's own routes. Only plugins that are
 * active answer.
 */
import type { Context } from '../../domain/context.ts';
import { sessionForReading } from '../../domain/accounts/session-cookie.ts';
import { rateLimitHeaders, RATE_LIMITED_MESSAGE, type CountRequest } from '../../lib/rate-limit.ts';
import type { InboundMount } from '../link-request.ts';
import { servePluginFile } from './plugin-files.ts';
import { sendPluginNotice } from './plugin-notices.ts';
import { servePluginPage } from './plugin-pages.ts';
import { sendNothing, type PluginRequest, type PluginSection } from './plugin-request.ts';
import { openPluginRoutes } from './plugin-routes.ts';

/** By the first part of the path after the plugin's name. To add one, add a line. */
const SECTIONS: Readonly<Record<string, PluginSection>> = { files: servePluginFile, pages: servePluginPage };

const PREFIX = '/plugins';
const PLACE = /^\/plugins\/([a-z0-9-]{1,40})\/([a-z0-9-]{1,40})(\/.*)?$/;

/** Serves `/plugins`. Files are not counted by the limit of requests: a page has several, and browsers keep them. */
export function pluginMount(ctx: Context, countRequest: CountRequest | undefined): InboundMount {
  const routes = openPluginRoutes(ctx);
  return {
    prefix: PREFIX,
    async handle(req, res, caller) {
      const [place = ''] = (req.url ?? '').split('?', 1);
      const [, vendor = '', name = '', path = ''] = PLACE.exec(place) ?? [];
      const plugin = ctx.plugins?.live({ vendor, name });
      if (!plugin && path.startsWith('/pages/'))
        return sendPluginNotice(res, { notice: 'unknown', plugin: `${vendor}/${name}` });
      if (!plugin) return sendNothing(res, 404, 'There is nothing at this address.');
      const request = { ctx, req, res, caller, plugin, base: `${PREFIX}/${vendor}/${name}`, path };
      const [, first = ''] = path.split('/', 2);
      if (first !== 'files' && !(await passes(request, countRequest))) return;
      const section = Object.hasOwn(SECTIONS, first) ? SECTIONS[first] : undefined;
      if (section) return section({ ...request, path: path.slice(first.length + 1) });
      return routes(request);
    },
  };
}

/** Counts the request, and refuses it if nothing of the limit is left. */
async function passes(
  { ctx, req, res, caller }: PluginRequest,
  countRequest: CountRequest | undefined,
): Promise<boolean> {
  const credential = sessionForReading(req.headers, ctx.installation.baseUrl) ?? null;
  const verdict = await countRequest?.({ credential, ipAddress: caller.ipAddress });
  if (!verdict) return true;
  for (const [name, value] of Object.entries(rateLimitHeaders(verdict))) res.setHeader(name, value);
  if (!verdict.isAllowed) sendNothing(res, 429, RATE_LIMITED_MESSAGE);
  return verdict.isAllowed;
}
