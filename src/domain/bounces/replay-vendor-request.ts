/** Looking at requests that vendors have sent, and reading them once more: administrators only. */
import { z } from 'zod';
import { isUid } from '../../lib/ids.ts';
import { WebhookBusyError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import type { WebhookRequest } from '../../plugin-api/index.ts';
import { requireAdministrator } from '../billing/billing-rights.ts';
import { endChecks, type Context } from '../context.ts';
import { webhookServers, type WebhookServer } from '../sending/webhook-servers.ts';
import { readVendorEvents } from './read-vendor-events.ts';
import { vendorRequestBusy, vendorRequestNotFound, vendorRequestServerGone } from './vendor-request-errors.ts';
import {
  countVendorRequests,
  listVendorRequests,
  wholeVendorRequest,
  type VendorRequest,
  type VendorRequestFilter,
  type WholeVendorRequest,
} from './vendor-request-read-model.ts';
import { hideSecrets, keptFault } from './vendor-request.ts';
import { noteReplay } from './vendor-request-store.ts';
import { enqueueWebhookEvents, type TakenEvents } from './webhook-events.ts';

interface Window {
  readonly offset: number;
  readonly limit: number;
  readonly countedMax: number;
}

type Given<Filter> = { readonly [Name in keyof Filter]?: Filter[Name] | undefined };

const filterInput = z.object({ sendingServerUid: z.string().refine(isUid, 'must be a uid').nullable() });

/** A page of the requests, the newest first. Throws ForbiddenError, ValidationError on `sendingServerUid`. */
export async function vendorRequestPage(
  ctx: Context,
  { serverUid = null, state = null, from = null, to = null }: Given<VendorRequestFilter>,
  { countedMax, ...window }: Window,
) {
  requireAdministrator(ctx);
  parseInput(filterInput, { sendingServerUid: serverUid });
  const filter = { serverUid, state, from, to };
  const [nodes, total] = await Promise.all([
    listVendorRequests(ctx.db, filter, window),
    countVendorRequests(ctx.db, filter, countedMax),
  ]);
  return { nodes, total };
}

/** What was in a request. A body that is no text is in base64. */
export interface VendorRequestContent {
  readonly request: VendorRequest;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64: boolean;
}

/** One request with its content, without credentials. Throws NotFoundError `VENDOR_REQUEST_NOT_FOUND`, ForbiddenError. */
export async function vendorRequestContent(ctx: Context, uid: string): Promise<VendorRequestContent> {
  const { query, headers, payload, ...request } = await findVendorRequest(ctx, uid);
  const server = await serverOf(ctx, request);
  const text = textOf(payload);
  const body = text === undefined ? payload.toString('base64') : hideSecrets(text, server?.secretValues ?? []);
  return { request, query, headers, body, isBase64: text === undefined };
}

/** A request after its replay. */
export interface ReplayedVendorRequest extends TakenEvents {
  readonly request: VendorRequest;
}

/**
 * Reads a request once more, with the driver as it is now. Events whose ids were recorded before have no effect. A request that still
 * cannot be read is an answer. Throws WrongStateError `VENDOR_REQUEST_SERVER_GONE`, `VENDOR_REQUEST_BUSY`, NotFoundError, ForbiddenError.
 */
export async function replayVendorRequest(
  ctx: Context,
  { uid }: { readonly uid: string },
): Promise<ReplayedVendorRequest> {
  const found = await findVendorRequest(ctx, uid);
  endChecks(ctx);
  const server = await serverOf(ctx, found);
  if (!server) throw vendorRequestServerGone();
  const { method, headers, query, payload: body, receivedAt } = found;
  const { events, fault } = await readAgain(ctx, server, { method, headers, query, body, receivedAt });
  const taken = await enqueueWebhookEvents(ctx, server, { events, requests: [], hasReported: false });
  await noteReplay(ctx.db, found, { eventCount: events.length, fault: keptFault(fault, server.secretValues) });
  const { query: _query, headers: _headers, payload: _payload, ...request } = await findVendorRequest(ctx, uid);
  return { request, ...taken };
}

async function readAgain(ctx: Context, server: WebhookServer, request: WebhookRequest) {
  try {
    return await readVendorEvents(ctx, server, request);
  } catch (error) {
    throw error instanceof WebhookBusyError ? vendorRequestBusy() : error;
  }
}

async function findVendorRequest(ctx: Context, uid: string): Promise<WholeVendorRequest> {
  requireAdministrator(ctx);
  const found = isUid(uid) ? await wholeVendorRequest(ctx.db, uid) : undefined;
  if (!found) throw vendorRequestNotFound();
  return found;
}

async function serverOf(
  ctx: Context,
  { type, serverUid, serverId }: VendorRequest,
): Promise<WebhookServer | undefined> {
  const servers = await webhookServers(ctx, { type, uid: serverUid });
  return servers.find((server) => server.serverId === serverId);
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
