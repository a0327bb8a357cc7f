/**
 * The plain web server: mounts handlers by path, numbers and logs every request, sets common headers, and lets running requests
 * end when it closes. It knows nothing about what it serves.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '../lib/errors.ts';
import { isUnavailable, UNAVAILABLE_RETRY_SECONDS, unavailableMessage } from '../lib/is-unavailable.ts';
import { answerMade } from '../lib/large-answers.ts';
import type { Log } from '../lib/log.ts';
import { clientAddressReader } from './client-address.ts';
import { beginExchange, safetyHeaders, type AnsweredRequest, type Exchange, type HttpsOnly } from './exchange.ts';
import { openFastPath, type FastHandler } from './fast-path.ts';
import { sendNotFound } from './own-page.ts';
import { ANSWER_PACE, paceConnections, type AnswerPace, type PacedConnections } from './paced-connection.ts';
import { takeAbsoluteForm, wantsSocket } from './request-target.ts';
import { sendJson } from './send-json.ts';
import { BODY_PACE, watchBody, type BodyPace } from './slow-body.ts';

// Decision D3: request line and headers up to 64 KiB (whole HTML documents arrive in query strings), plus a reserve.
const HEADER_BYTES_MAX = 80 * 1024;
// A client that needs longer for its headers is holding a connection, not sending a request.
const HEADERS_TIMEOUT_MS = 20_000;
// Large import files come over slow lines.
const REQUEST_TIMEOUT_MS = 30 * 60_000;
// Above the 60 s that common reverse proxies keep idle connections, so that they never reuse one that we just closed.
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
// Closes a socket without traffic in either direction during a request or an answer.
const STALLED_SOCKET_TIMEOUT_MS = 120_000;
/** A statement that runs is answered in this time, or its connection is closed as well. */
const HANDLERS_WAIT_MS_MAX = 2_000;
/** How long `close` waits for running requests by default. */
const CLOSE_WAIT_MS_MAX = 8_000;

export interface Mount {
  /** Serves this path and everything below it; the first mount that fits wins. */
  readonly prefix: string;
  /** Only the path itself. */
  readonly exact?: boolean;
  handle(req: IncomingMessage, res: ServerResponse, exchange: Exchange): void | Promise<void>;
  upgrade?(req: IncomingMessage, socket: Duplex, head: Buffer, ipAddress: string): void;
  /** For very frequent GETs: see fast-path.ts. */
  readonly fast?: FastHandler;
}

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly mounts: readonly Mount[];
  readonly log: Log;
  /** Addresses and networks (CIDR) whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[];
  /** For which hosts answers tell browsers to use only https; none by default. */
  readonly httpsOnly?: HttpsOnly;
  /** Called for every answered request. */
  readonly observe?: ((request: AnsweredRequest) => void) | undefined;
  /** How fast bodies have to come. */
  readonly bodyPace?: BodyPace;
  /** How fast answers have to be taken. */
  readonly answerPace?: AnswerPace;
}

export interface HttpServer {
  readonly port: number;
  /** Takes no new requests, lets running ones end (at most `waitMsMax`), then cuts what is left. */
  close(waitMsMax?: number): Promise<void>;
}

interface State {
  closing: boolean;
  readonly upgraded: Set<Duplex>;
  /** Handlers that run, and a callback for the end of the last one. */
  running: number;
  idle: (() => void) | undefined;
}

/** Starts listening and resolves with the port taken. Rejects when the address is in use or not allowed. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const addressOf = clientAddressReader(options.trustedProxies ?? []);
  const { httpsOnly = 'nothing', observe } = options;
  const state: State = { closing: false, upgraded: new Set(), running: 0, idle: undefined };
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Done below: answers that Node gives without a handler are not counted.
    requireHostHeader: false,
    shouldUpgradeCallback: (req) => wantsSocket(req) && upgraderOf(options.mounts, req) !== undefined,
  });
  server.setTimeout(STALLED_SOCKET_TIMEOUT_MS);
  const isClosing = (): boolean => state.closing;
  const fastPath = openFastPath({ ...options, httpsOnly, addressOf, isClosing });
  const paced = paceConnections(server, options.answerPace ?? ANSWER_PACE);
  server.on('checkExpectation', (req, res) => {
    paced.begin(req, res);
    res.writeHead(417).end();
  });
  server.on('request', (req, res) => {
    paced.begin(req, res);
    // RFC 9112 3.2.
    if (req.headers.host === undefined && req.httpVersion === '1.1') return refuseHostless(res);
    if (state.closing) res.setHeader('Connection', 'close');
    takeAbsoluteForm(req);
    if (fastPath.take(req, res)) return;
    watchBody(req, options.bodyPace ?? BODY_PACE);
    const exchangeOptions = { log: options.log, ipAddress: addressOf(req), httpsOnly, observe };
    state.running += 1;
    void serve(req, res, beginExchange(req, res, exchangeOptions), options.mounts).then(() => {
      answerMade(res);
      state.running -= 1;
      if (state.running === 0) state.idle?.();
    });
  });
  server.on('upgrade', (req, socket, head) => {
    paced.release(req.socket);
    state.upgraded.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => state.upgraded.delete(socket));
    const upgrade = upgraderOf(options.mounts, req);
    if (!upgrade || state.closing) return refuseUpgrade(socket);
    // Long-lived by design: the handler watches it from here.
    if ('setTimeout' in socket && typeof socket.setTimeout === 'function') socket.setTimeout(0);
    upgrade(req, socket, head, addressOf(req));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    paced.end(socket);
    answerUnreadable(error.code, socket, httpsOnly);
  });
  await listen(server, options);
  const address = server.address();
  const port = isAddressInfo(address) ? address.port : options.port;
  options.log.info('http.listening', { port, routes: options.mounts.map(({ prefix }) => prefix) });
  return {
    port,
    close: async (waitMsMax = CLOSE_WAIT_MS_MAX) => {
      state.closing = true;
      await closeServer(server, { paced, upgraded: state.upgraded }, waitMsMax);
      await handlersEnd(state);
      fastPath.close();
      paced.close();
    },
  };
}

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  exchange: Exchange,
  mounts: readonly Mount[],
): Promise<void> {
  try {
    const mount = mountFor(mounts, pathOf(req));
    if (!mount) return sendNotFound(req, res);
    exchange.route = mount.prefix;
    await mount.handle(req, res, exchange);
  } catch (error) {
    answerFailure(error, res, exchange);
  }
}

function answerFailure(error: unknown, res: ServerResponse, exchange: Exchange): void {
  const isAway = isUnavailable(error);
  if (isAway) exchange.log.warn('http.unavailable', { message: messageOf(error) });
  else exchange.log.error('http.defect', { error, reference: exchange.requestId });
  if (res.headersSent) return void res.destroy();
  if (isAway) {
    res.setHeader('Retry-After', String(UNAVAILABLE_RETRY_SECONDS));
    return sendJson(res, 503, { message: unavailableMessage(error) });
  }
  const message = 'The server made a mistake. It is logged under this reference.';
  sendJson(res, 500, { message, reference: exchange.requestId });
}

function mountFor(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts.find(
    ({ prefix, exact }) => path === prefix || (!exact && path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)),
  );
}

function upgraderOf(mounts: readonly Mount[], req: IncomingMessage): Mount['upgrade'] {
  takeAbsoluteForm(req);
  return mountFor(mounts, pathOf(req))?.upgrade;
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? '/').split('?', 1)[0] ?? '/';
}

function refuseHostless(res: ServerResponse): void {
  res.writeHead(400, { Connection: 'close', 'Content-Length': '0' }).end();
}

function refuseUpgrade(socket: Duplex): void {
  socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
}

/**
 * Bytes that are no HTTP request, or too large headers: a short answer if one can still be written, with a status that the
 * contract knows (decision D6).
 */
function answerUnreadable(code: string | undefined, socket: Duplex, httpsOnly: HttpsOnly): void {
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { status, message } = UNREADABLE[code ?? ''] ?? NO_REQUEST;
  const body = JSON.stringify({ message });
  const headers = Object.entries({
    Connection: 'close',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    ...safetyHeaders(httpsOnly),
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status}`, ...headers, '', body].join('\r\n'));
}

const NO_REQUEST = { status: '422 Unprocessable Content', message: 'This is not a readable HTTP request.' };
const UNREADABLE: Readonly<Record<string, typeof NO_REQUEST>> = {
  HPE_HEADER_OVERFLOW: {
    status: '413 Content Too Large',
    message: 'The address and headers of a request may have 64 KiB; send long values in the body.',
  },
  TINY_CHUNKS: {
    status: '422 Unprocessable Content',
    message: 'The chunks of the body are too small: send larger ones, or a body with a Content-Length.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: '503 Service Unavailable', message: 'The request did not arrive in time.' },
};

function listen(server: Server, { host, port }: HttpServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

interface Connections {
  readonly paced: PacedConnections;
  readonly upgraded: ReadonlySet<Duplex>;
}

async function closeServer(server: Server, { paced, upgraded }: Connections, waitMsMax: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const closeIdle = (): void => {
    server.closeIdleConnections();
    paced.closeUnused();
  };
  closeIdle();
  // A connection becomes idle when its answer ends; it would then wait for the next request.
  const closingTimer = setInterval(closeIdle, 50);
  const cut = setTimeout(() => {
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
  }, waitMsMax);
  await closed;
  clearInterval(closingTimer);
  clearTimeout(cut);
  for (const socket of upgraded) socket.destroy();
}

/** A handler whose client was cut off may still use what is closed after this server. */
async function handlersEnd(state: State): Promise<void> {
  if (state.running === 0) return;
  await new Promise<void>((resolve) => {
    const late = setTimeout(resolve, HANDLERS_WAIT_MS_MAX);
    state.idle = () => {
      clearTimeout(late);
      resolve();
    };
  });
}

function isAddressInfo(address: string | AddressInfo | null): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}
