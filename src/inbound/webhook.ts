/**
 * `/webhook/{type}/{uid}`: vendors post events about messages here (specification 4.13). The driver says whether a request is
 * genuine; the host reads it, keeps it for some days, and decides what follows.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inDriverTime, readVendorEvents } from '../domain/bounces/read-vendor-events.ts';
import { keptRequest } from '../domain/bounces/vendor-request.ts';
import { createWebhookIntake, type TakeEvents } from '../domain/bounces/webhook-intake.ts';
import type { Context } from '../domain/context.ts';
import { driverOfType } from '../domain/sending/driver-of-type.ts';
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

interface Answer {
  readonly status: number;
  readonly message: string;
  /** The methods, where another one was used. */
  readonly allow?: string;
}

const TAKEN: Answer = { status: 200, message: 'The events were received.' };
const NOT_FOUND: Answer = { status: 404, message: 'No sending server accepts webhooks at this address.' };
const REFUSED: Answer = { status: 401, message: 'The signature of this request is missing or wrong.' };
const TOO_LARGE: Answer = { status: 413, message: 'The body is larger than 1 MB.' };
const UNREADABLE: Answer = {
  status: 422,
  message: 'The driver cannot read this request. It was kept for an administrator.',
};

/** Takes POST below `/webhook`, and GET for vendors that report by it. */
export function webhookMount(ctx: Context): InboundMount {
  const takeEvents = createWebhookIntake({ ...ctx, viewer: null });
  return {
    prefix: PREFIX,
    async handle(req, res, caller) {
      const { method } = req;
      const isKnown = method === 'POST' || method === 'GET';
      respond(res, isKnown ? await take({ ctx, takeEvents }, req, { ...caller, method }) : notAllowed(['POST']));
    },
  };
}

interface Means {
  readonly ctx: Context;
  readonly takeEvents: TakeEvents;
}

async function take(
  { ctx, takeEvents }: Means,
  req: IncomingMessage,
  { method, ...caller }: Caller & { method: WebhookRequest['method'] },
): Promise<Answer> {
  const url = new URL(req.url ?? '/', 'http://host');
  const [type = '', uid = '', ...rest] = url.pathname.slice(PREFIX.length + 1).split('/');
  if (rest.length > 0) return NOT_FOUND;
  const publicCtx: Context = { ...ctx, log: caller.log, viewer: null, ipAddress: caller.ipAddress || null };
  const receiver = driverOfType(ctx.hooks, type)?.webhook;
  if (!receiver) return NOT_FOUND;
  const { methods = ['POST'], busyStatus = 503 } = receiver;
  if (!methods.includes(method)) return notAllowed(methods);
  try {
    return await takeFor({ ctx: publicCtx, takeEvents }, { type, uid, url, method, req, busyStatus });
  } catch (error) {
    if (!isUnavailable(error) && !(error instanceof WebhookBusyError)) throw error;
    // The database is away or too busy: the vendor is asked to come again, in the way that this vendor understands.
    caller.log.warn('webhook.busy', { type, uid, message: messageOf(error) });
    return busy(busyStatus);
  }
}

interface Posted {
  readonly type: string;
  readonly uid: string;
  readonly url: URL;
  readonly method: WebhookRequest['method'];
  readonly req: IncomingMessage;
  readonly busyStatus: number;
}

async function takeFor(means: Means, { type, uid, url, method, req, busyStatus }: Posted): Promise<Answer> {
  const { ctx } = means;
  const servers = await webhookServers(ctx, { type, uid });
  if (servers.length === 0) return NOT_FOUND;
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
    const proof = await proofOf(ctx, server, request);
    if (proof === 'genuine') return record(means, server, request);
    isBusy ||= proof === 'busy';
  }
  if (isBusy) return busy(busyStatus);
  ctx.log.warn('webhook.refused', { type, uid });
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
    const said: unknown = await inDriverTime(async () => receiver.verify(request, settings));
    return said === true ? 'genuine' : 'refused';
  } catch (error) {
    ctx.log.warn('webhook.verify_failed', { message: messageOf(error) });
    return error instanceof WebhookBusyError ? 'busy' : 'refused';
  }
}

async function record({ ctx, takeEvents }: Means, server: WebhookServer, request: WebhookRequest): Promise<Answer> {
  const { events, fault } = await readVendorEvents(ctx, server, request);
  const kept = keptRequest(request, { secrets: server.secretValues, eventCount: events.length, fault });
  await takeEvents({ server, events, request: kept });
  return fault === null ? TAKEN : UNREADABLE;
}

function busy(status: number): Answer {
  return { status, message: 'The events cannot be taken at present. Send them again.' };
}

function notAllowed(methods: readonly string[]): Answer {
  const allow = methods.join(', ');
  return { status: 405, message: `Only ${allow} is accepted here.`, allow };
}

/** Of equal names Node keeps the first or joins them; only cookies are a list. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

function respond(res: ServerResponse, { status, message, allow }: Answer): void {
  const body = JSON.stringify(status === 200 ? { status: 1, message } : { message });
  const isBusy = status === 429 || status === 503;
  res.writeHead(status, {
    ...{ 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' },
    ...(allow !== undefined && { Allow: allow }),
    ...(isBusy && { 'Retry-After': String(UNAVAILABLE_RETRY_SECONDS) }),
  });
  res.end(body);
}
