/**
 * Pages of plugins (hook `page`) below `/plugins/<vendor>/<name>/pages`, under the rights of the browser's session. The view is filled with
 * data of the plugin; every value is escaped, and the policy of the page allows no script but files that active plugins have named.
 */
import { languageWithId } from '../../domain/accounts/languages.ts';
import type { OwnedEntry } from '../../domain/product-hooks.ts';
import { extensionSlots } from '../../domain/plugins/extension-slots.ts';
import { labelText, translate } from '../../domain/plugins/plugin-texts.ts';
import { Html } from '../../lib/html.ts';
import { renderView } from '../../lib/view-engine.ts';
import type { PageData, PageRequest, PluginPage } from '../../plugin-api/index.ts';
import { sendPage, setPublicHeaders } from '../page.ts';
import { wordsOfReader } from '../page-language.ts';
import { readForm } from '../read-form.ts';
import { sendBodyTooLarge } from '../notices.ts';
import { wordsIn } from '../words.ts';
import { noteCall } from './note-call.ts';
import { sendPluginNotice, sendSignIn } from './plugin-notices.ts';
import type { PluginRequest } from './plugin-request.ts';
import type { PageReader } from './page-reader.ts';
import { sessionOfRequest, type PluginSession } from './plugin-viewer.ts';
import { serveSettingsPage, SETTINGS_PAGE } from './settings-page.ts';

const METHODS = ['GET', 'HEAD', 'POST'];
/** A form of a page; files are not taken. */
const PAGE_FORM_BYTES_MAX = 65_536;
const PLUGIN_MS_MAX = 5_000;
/** What a view shows; a page of a thousand rows has some 100 KB. */
const DATA_LENGTH_MAX = 1_000_000;
const PARAMETERS_MAX = 100;

/** A section of `/plugins/<vendor>/<name>`. */
export async function servePluginPage(request: PluginRequest): Promise<void> {
  const { ctx, req, res, path, plugin } = request;
  const { method = 'GET' } = req;
  if (!METHODS.includes(method)) {
    setPublicHeaders(res);
    return void res.writeHead(method === 'OPTIONS' ? 204 : 405, { Allow: [...METHODS, 'OPTIONS'].join(', ') }).end();
  }
  const name = path.replace(/^\//, '');
  const entry = ctx.hooks.owned('page').find((one) => one.plugin === plugin.name && one.value.name === name);
  if (!entry && name !== SETTINGS_PAGE) return sendPluginNotice(res, { notice: 'unknown', plugin: plugin.name });
  const session = await sessionOfRequest(request);
  if (!session)
    return isForeign(request) ? sendPluginNotice(res, { notice: 'foreign', plugin: plugin.name }) : sendSignIn(request);
  if (entry?.value.audience === 'admin' && !session.isAdmin)
    return sendPluginNotice(res, { notice: 'forbidden', plugin: plugin.name });
  if (entry?.value.audience === 'customer' && !ctx.hooks.mayActFor(plugin.name, session.customerUid))
    return sendPluginNotice(res, { notice: 'off', plugin: plugin.name });
  const reader = await readerOf(request, session);
  if (!entry) return serveSettingsPage(reader);
  if (method === 'POST') return submit(reader, entry);
  await show(reader, entry, { status: 200 });
}

/** A form with the cookie of a session, which did not come from one of our pages. */
function isForeign({ req }: PluginRequest): boolean {
  return req.method === 'POST' && (req.headers.cookie ?? '').includes('mailwright_session=');
}

async function readerOf(request: PluginRequest, session: PluginSession): Promise<PageReader> {
  const code = languageWithId(session.languageId);
  const words = code ? wordsIn(code) : wordsOfReader(request.req);
  const slots = await extensionSlots({ ...request.ctx, viewer: session.viewer }, { page: 'layout' });
  const hrefsOf = (kind: string) =>
    slots.flatMap((slot) => (slot.kind === kind && slot.href !== null ? [slot.href] : []));
  const { origin } = new URL(request.ctx.installation.baseUrl);
  return { request, session, words, files: { origin, scripts: hrefsOf('script'), styles: hrefsOf('stylesheet') } };
}

type Entry = OwnedEntry<PluginPage>;

async function submit(reader: PageReader, entry: Entry): Promise<void> {
  const { request, words } = reader;
  const { ctx, req, res, plugin, base } = request;
  const call = entry.value.submit;
  if (!call) return void res.writeHead(405, { Allow: 'GET, HEAD, OPTIONS' }).end();
  const form = await readForm(req, PAGE_FORM_BYTES_MAX);
  if (!form) return sendBodyTooLarge(res, words);
  const { viewer } = reader.session;
  await noteCall(request, { viewer, operation: 'submitPluginPage', place: entry.value.name });
  const submission = { ...pageRequest(reader), form: Object.fromEntries(form) };
  const outcome = await ctx.hooks.contained
    .run({ plugin: plugin.name, hook: 'page' }, async () => outcomeOf(await call(submission)), {
      timeoutMs: PLUGIN_MS_MAX,
    })
    .catch(() => undefined);
  if (!outcome) return sendPluginNotice(res, { notice: 'failed', plugin: plugin.name, words });
  if ('data' in outcome) return show(reader, entry, { status: 422, data: outcome.data });
  setPublicHeaders(res);
  const next = outcome.next ?? entry.value.name;
  res.writeHead(303, { Location: `${ctx.installation.baseUrl}${base}/pages/${next}` }).end();
}

async function show(
  reader: PageReader,
  { value: page, plugin }: Entry,
  { status, data }: { readonly status: number; readonly data?: PageData },
): Promise<void> {
  const { request, words, files } = reader;
  const { ctx, res, base } = request;
  const { language } = words;
  const asked = pageRequest(reader);
  const body = await ctx.hooks.contained
    .run(
      { plugin, hook: 'page' },
      async () => {
        const given = data ?? plainData((await page.data?.(asked)) ?? {});
        const shared = { language, isAdmin: asked.isAdmin, files: `${base}/files` };
        return renderView(page.source ?? '', { ...given, page: shared }, (key, values) =>
          translate(ctx.hooks, { plugin, language, key, values }),
        );
      },
      { timeoutMs: PLUGIN_MS_MAX },
    )
    .catch(() => undefined);
  if (body === undefined) return sendPluginNotice(res, { notice: 'failed', plugin, words });
  const title = labelText(ctx.hooks, page.title, { plugin, language });
  sendPage(res, status, { words, title, body: new Html(body), files });
}

function pageRequest({ request, session, words }: PageReader): PageRequest {
  const query = new URLSearchParams((request.req.url ?? '').split('?')[1] ?? '');
  const { customerUid, viewer, isAdmin } = session;
  const parameters = Object.fromEntries([...query].slice(0, PARAMETERS_MAX));
  return Object.freeze({ customerUid, userUid: viewer.userUid, isAdmin, language: words.language, query: parameters });
}

/** A copy that is plain data. Throws when the plugin has answered something else. */
function plainData(given: unknown): PageData {
  const json: unknown = JSON.stringify(given);
  if (typeof json !== 'string' || !json.startsWith('{')) throw new Error('The data of a page must be an object.');
  if (json.length > DATA_LENGTH_MAX) throw new Error(`The data of a page has more than ${DATA_LENGTH_MAX} characters.`);
  return JSON.parse(json);
}

const PAGE_NAME = /^[a-z0-9]+(?:[-/][a-z0-9]+)*(?:\?[\w=&%.-]{0,500})?$/;

function outcomeOf(given: unknown): { readonly next: string | undefined } | { readonly data: PageData } {
  if (typeof given === 'object' && given !== null && 'data' in given) return { data: plainData(given.data) };
  const next: unknown = typeof given === 'object' && given !== null && 'next' in given ? given.next : undefined;
  if (next === undefined) return { next };
  if (typeof next === 'string' && PAGE_NAME.test(next)) return { next };
  throw new Error('"next" must be the name of a page of the plugin, such as notes or notes?saved=1.');
}
