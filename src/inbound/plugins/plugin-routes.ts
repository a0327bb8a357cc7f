/**
 * The routes of plugins (hook `route`). Mailwright finds out who asks, refuses changes that come from other sites, reads the body, and calls
 * the plugin with data only, contained and within ten seconds.
 */
import type { IncomingMessage } from 'node:http';
import Router from 'find-my-way';
import type { Context } from '../../domain/context.ts';
import { readBody, STRANGERS_BODY_BYTES_MAX } from '../../lib/bounded-body.ts';
import type { PluginViewer, Route, RouteRequest } from '../../plugin-api/index.ts';
import { fileUrlOf } from './plugin-files.ts';
import { noteCall } from './note-call.ts';
import { sendNothing, type PluginRequest, type PluginSection } from './plugin-request.ts';
import { sessionOfRequest, type PluginSession } from './plugin-viewer.ts';
import { preparedAnswer, writeAnswer } from './route-answer.ts';

const ROUTE_MS_MAX = 10_000;
const TIME = `it has ${ROUTE_MS_MAX / 1_000} seconds`;
const PART_LENGTH_MAX = 500;
const FIELDS_MAX = 200;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const FORM = 'application/x-www-form-urlencoded';

type Routes = ReturnType<typeof Router>;

/** Answers requests by the routes of the plugins that are live; found anew after each change of plugins. */
export function openPluginRoutes(ctx: Context): PluginSection {
  let known: { readonly entries: unknown; readonly routers: Map<string, Routes> } | undefined;
  const routerOf = (plugin: string): Routes => {
    const entries = ctx.hooks.owned('route');
    if (known?.entries !== entries) known = { entries, routers: new Map() };
    const router = known.routers.get(plugin) ?? newRouter(ctx, plugin);
    known.routers.set(plugin, router);
    return router;
  };
  return (request) => answer(request, routerOf(request.plugin.name));
}

function newRouter(ctx: Context, plugin: string): Routes {
  const router = Router({ ignoreTrailingSlash: true, maxParamLength: PART_LENGTH_MAX });
  for (const { plugin: owner, value } of ctx.hooks.owned('route'))
    if (owner === plugin) router.on(value.method, value.path, () => undefined, value);
  return router;
}

async function answer(request: PluginRequest, router: Routes): Promise<void> {
  const { ctx, req, res, path, plugin } = request;
  const method = req.method === 'HEAD' ? 'GET' : METHODS.find((one) => one === req.method);
  const place = path === '' ? '/' : path;
  const found = method && router.find(method, place);
  const route: Route | undefined = found?.store;
  if (!found || !route) return refuseAddress(request, router, place);
  const { auth = 'session' } = route;
  const session = await sessionOfRequest(request);
  const viewer = session && viewerOf(session);
  const isOwn = method === 'GET' || isFromOwnPage(req, ctx.installation.baseUrl);
  if (!isOwn && (viewer || req.headers.origin !== undefined))
    return sendNothing(res, 403, 'This must come from a page of this installation.');
  if (auth !== 'public' && !viewer) return sendNothing(res, 401, 'Log in first.');
  if (auth === 'admin' && !viewer?.isAdmin) return sendNothing(res, 403, 'This is for administrators.');
  const isOn = viewer === null || ctx.hooks.mayActFor(plugin.name, viewer.customerUid);
  if (auth === 'session' && !isOn) return sendNothing(res, 404, `Your account has not switched on ${plugin.name}.`);
  const body = await readBody(req, { bytesMax: STRANGERS_BODY_BYTES_MAX });
  if (!body) return sendNothing(res, 413, `A body may have ${STRANGERS_BODY_BYTES_MAX / 1024} KB.`);
  // A public route is for everybody; who has not switched the plugin on is nobody to it.
  const known = auth === 'admin' || isOn ? viewer : null;
  if (session && known && method !== 'GET')
    await noteCall(request, { viewer: session.viewer, operation: 'callPluginRoute', place: `${method} ${route.path}` });
  const data = requestData(request, { method: req.method ?? '', params: found.params, body, viewer: known });
  const prepared = await ctx.hooks.contained
    .run({ plugin: plugin.name, hook: 'route' }, async () => preparedAnswer(await route.handle(data), request), {
      timeoutMs: ROUTE_MS_MAX,
    })
    .catch((error: unknown) => (isLate(error) ? ('late' as const) : undefined));
  if (!prepared) return sendNothing(res, 500, `The plugin ${plugin.name} failed. The reason is in the log.`);
  if (prepared === 'late') return sendNothing(res, 504, `The plugin ${plugin.name} did not answer in time: ${TIME}.`);
  writeAnswer(res, prepared);
}

/** Whether a plugin was not ready in time (PluginFailed). */
function isLate(error: unknown): boolean {
  return error instanceof Error && 'isLate' in error && error.isLate === true;
}

function refuseAddress({ res }: PluginRequest, router: Routes, place: string): void {
  const others = METHODS.filter((method) => router.find(method, place));
  if (others.length === 0) return sendNothing(res, 404, 'There is nothing at this address.');
  res.setHeader('Allow', others.join(', '));
  sendNothing(res, 405, `This address takes ${others.join(', ')}.`);
}

/** A change must come from one of our own pages; what browsers send by themselves proves nothing. */
function isFromOwnPage(req: IncomingMessage, baseUrl: string): boolean {
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return req.headers.origin === new URL(baseUrl).origin;
}

function viewerOf({ customerUid, viewer, isAdmin }: PluginSession): PluginViewer {
  return Object.freeze({ customerUid, userUid: viewer.userUid, isAdmin });
}

interface Read {
  readonly method: string;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly viewer: PluginViewer | null;
}

function requestData({ req, base, plugin }: PluginRequest, { method, params, body, viewer }: Read): RouteRequest {
  const contentType = (req.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return Object.freeze({
    ...{ method, contentType, viewer, body: new Uint8Array(body) },
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value ?? ''])),
    query: fieldsOf((req.url ?? '').split('?')[1] ?? ''),
    form: contentType === FORM ? fieldsOf(body.toString()) : {},
    fileUrl: (name: string) => fileUrlOf(base, plugin, name),
  });
}

function fieldsOf(text: string): Readonly<Record<string, string>> {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.size >= FIELDS_MAX) break;
    if (!fields.has(name)) fields.set(name, value);
  }
  return Object.fromEntries(fields);
}
