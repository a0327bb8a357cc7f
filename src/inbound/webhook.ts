/**
 * `/webhook/{type}/{uid}`: vendors post events about messages here (specification 4.13). The driver says whether a request is
 * genuine; the host reads it and decides what follows.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkWebhookEvents, enqueueWebhookEvents } from '../domain/bounces/webhook-events.ts';
import type { Context } from '../domain/context.ts';
import { webhookServers, type WebhookServer } from '../domain/sending/webhook-servers.ts';
import { readBody } from '../lib/bounded-body.ts';
import { messageOf, WebhookBusyError } from '../lib/errors.ts';
import { isUnavailable, UNAVAILABLE_RETRY_SECONDS } from '../lib/is-unavailable.ts';
import type { WebhookRequest } from '../plugin-api/index.ts';
import type { Caller, InboundMount } from './link-request.ts';

const PREFIX = '/webhook';
/**
 * Vendors send up to 500 events of up to 1 KB at once, so the limit of 256 KB for strangers is too small. Here the bytes are only
 * collected, which is cheap; they are parsed after the driver has found them genuine.
 */
const BODY_BYTES_MAX = 1_048_576;
/** A driver usually only computes; one that asks its vendor for a key may take a moment. */
const DRIVER_MS_MAX = 5_000;

interface Answer {
  readonly status: number;
  readonly message: string;
}

const NOT_ALLOWED: Answer = { status: 405, message: 'Only POST is accepted here.' };
const NOT_FOUND: Answer = { status: 404, message: 'No sending server accepts webhooks at this address.' };
const REFUSED: Answer = { status: 401, message: 'The signature of this request is missing or wrong.' };
const TOO_LARGE: Answer = { status: 413, message: 'The body is larger than 1 MB.' };
const UNREADABLE: Answer = { status: 422, message: 'The driver cannot read this request.' };

/** Takes POST below `/webhook`, and GET for vendors that report by it. */
export function webhookMount(ctx: Context): InboundMount {
  return {
    prefix: PREFIX,
    async handle(req, res, caller) {
      const { method } = req;
      respond(res, method === 'POST' || method === 'GET' ? await take(ctx, req, { ...caller, method }) : NOT_ALLOWED);
    },
  };
}

async function take(
  ctx: Context,
  req: IncomingMessage,
  { method, ...caller }: Caller & { method: WebhookRequest['method'] },
): Promise<Answer> {
  const url = new URL(req.url ?? '/', 'http://host');
  const [type = '', uid = '', ...rest] = url.pathname.slice(PREFIX.length + 1).split('/');
  if (rest.length > 0) return NOT_FOUND;
  const publicCtx: Context = { ...ctx, log: caller.log, viewer: null, ipAddress: caller.ipAddress || null };
  const servers = await webhookServers(publicCtx, { type, uid });
  const [first] = servers;
  if (!first) return NOT_FOUND;
  const { methods = ['POST'], busyStatus = 503 } = first.receiver;
  if (!methods.includes(method)) return NOT_ALLOWED;
  const body = await readBody(req, { bytesMax: BODY_BYTES_MAX });
  if (!body) return TOO_LARGE;
  const request: WebhookRequest = {
    method,
    headers: headersOf(req),
    query: Object.fromEntries(url.searchParams),
    body,
    receivedAt: ctx.clock.now(),
  };
  let isBusy = false;
  for (const server of servers) {
    const proof = await proofOf(publicCtx, server, request);
    if (proof === 'genuine') return recordOrAskAgain(publicCtx, server, { request, busyStatus });
    isBusy ||= proof === 'busy';
  }
  if (isBusy) return busy(busyStatus);
  caller.log.warn('webhook.refused', { type, uid });
  return REFUSED;
}

/** A driver that fails has not confirmed. `busy`: it cannot say at present. */
async function proofOf(
  ctx: Context,
  { receiver, settings }: WebhookServer,
  request: WebhookRequest,
): Promise<'genuine' | 'refused' | 'busy'> {
  try {
    // A plugin's code may be unchecked JavaScript: only `true` is a yes.
    const said: unknown = await inTime(async () => receiver.verify(request, settings));
    return said === true ? 'genuine' : 'refused';
  } catch (error) {
    ctx.log.warn('webhook.verify_failed', { message: messageOf(error) });
    return error instanceof WebhookBusyError ? 'busy' : 'refused';
  }
}

/** While the database is away or too busy the vendor is asked to come again, in the way that this vendor understands. */
async function recordOrAskAgain(
  ctx: Context,
  server: WebhookServer,
  { request, busyStatus }: { request: WebhookRequest; busyStatus: number },
): Promise<Answer> {
  try {
    return await record(ctx, server, request);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    ctx.log.warn('webhook.busy', { serverId: server.serverId, message: messageOf(error) });
    return busy(busyStatus);
  }
}

function busy(status: number): Answer {
  return { status, message: 'The events cannot be taken at present. Send them again.' };
}

async function record(ctx: Context, server: WebhookServer, request: WebhookRequest): Promise<Answer> {
  const { serverId, receiver, settings } = server;
  let checkedEvents;
  try {
    const events = await inTime(async () => receiver.parse(request, settings));
    checkedEvents = checkWebhookEvents(events);
    for (const event of events)
      if (event.kind === 'ignored') ctx.log.debug('webhook.ignored', { serverId, name: event.name.slice(0, 100) });
  } catch (error) {
    ctx.log.warn('webhook.parse_failed', { serverId, message: messageOf(error) });
    if (error instanceof WebhookBusyError) return busy(receiver.busyStatus ?? 503);
    return UNREADABLE;
  }
  const taken = await enqueueWebhookEvents(ctx, server, checkedEvents);
  ctx.log.debug('webhook.taken', { serverId, ...taken });
  return { status: 200, message: 'The events were received.' };
}

function inTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the driver took too long')), DRIVER_MS_MAX);
  });
  return Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

/** Of equal names Node keeps the first or joins them; only cookies are a list. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

function respond(res: ServerResponse, { status, message }: Answer): void {
  const body = JSON.stringify(status === 200 ? { status: 1, message } : { message });
  const isBusy = status === 429 || status === 503;
  res.writeHead(status, {
    ...{ 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' },
    ...(status === 405 && { Allow: 'POST' }),
    ...(isBusy && { 'Retry-After': String(UNAVAILABLE_RETRY_SECONDS) }),
  });
  res.end(body);
}
