/**
 * Kept-open connections to one web server that a person chose, for many requests: a vendor of mail gets thousands. Guarded as all
 * outbound requests (public-address.ts): names are judged at each new connection. Redirects are answers.
 */
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { connectionFaultInWords } from './connection-faults.ts';
import { isPortAllowed, PORTS_RULE } from './outbound-request.ts';
import type { AddressGuard } from './public-address.ts';

export interface PooledRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | undefined;
  /** Ends the request: nobody waits for its answer any more. */
  readonly signal?: AbortSignal | undefined;
}

export interface PooledAnswer {
  readonly status: number;
  /** By small names; several of one name are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning: at most 1 MB, or as much as the pool reads. */
  readonly body: Buffer;
  /** False: the connection broke, or time ran out, during the body; or it was longer. */
  readonly isComplete: boolean;
}

/** There is no answer. */
export class NoAnswerError extends Error {
  /** False: the other side certainly has not got the whole request. */
  readonly wasSent: boolean;

  constructor(message: string, wasSent: boolean) {
    super(message);
    this.name = 'NoAnswerError';
    this.wasSent = wasSent;
  }
}

export interface OutboundPool {
  /** Throws NoAnswerError. */
  request(request: PooledRequest): Promise<PooledAnswer>;
  /** How many connections it may have open from now on. */
  useConnections(count: number): void;
  /** Closes every connection; call it when no request is under way. */
  close(): void;
}

export interface PoolOptions {
  readonly connections: number;
  /** From the request to the last byte of its answer. */
  readonly timeoutMs: number;
  /** So much of an answer is read; the connection of a longer one is closed. Absent: 1 MB. */
  readonly answerBytesMax?: number;
  /** Absent: any address may be reached. */
  readonly guard?: AddressGuard | undefined;
  /** With a guard only the ports 80 and 443 are used, besides those of hosts that the operator allows. */
  readonly allowed?: readonly string[] | undefined;
}

/** Answers about a message have a few hundred bytes; lists of domains have more. */
const BODY_BYTES_MAX = 1_048_576;
/** Servers close idle connections after five seconds at the earliest; a request on a closing one would have an unknown outcome. */
const IDLE_MS_MAX = 3_000;

/** Opens nothing yet. `origin` is checked: `https://api.example.com`. */
export function openOutboundPool(
  origin: string,
  { connections, timeoutMs, answerBytesMax = BODY_BYTES_MAX, guard, allowed = [] }: PoolOptions,
): OutboundPool {
  const url = new URL(origin);
  const library = url.protocol === 'https:' ? https : http;
  const agent = new library.Agent({ keepAlive: true, maxSockets: connections, timeout: IDLE_MS_MAX });
  return {
    async request({ method, path, headers, body, signal }) {
      // Node asks the look-up about names only.
      const refusal = guard && isAddress(url.hostname) ? await guard.refusal(url.hostname) : undefined;
      if (refusal) throw new NoAnswerError(refusal, false);
      if (guard && !isPortAllowed(url, { allowed })) throw new NoAnswerError(PORTS_RULE, false);
      const content = body === undefined ? undefined : Buffer.from(body);
      const req = library.request({
        ...{ protocol: url.protocol, host: bare(url.hostname), port: url.port, path, method, agent },
        ...(signal && { signal }),
        ...(guard && { lookup: guard.lookup }),
        headers: {
          'User-Agent': 'Mailwright',
          ...headers,
          'Accept-Encoding': 'identity',
          ...(content && { 'Content-Length': content.byteLength }),
        },
      });
      return answerOf(req, content, { timeoutMs, answerBytesMax });
    },
    useConnections(count) {
      agent.maxSockets = count;
    },
    close: () => agent.destroy(),
  };
}

function answerOf(
  req: ClientRequest,
  content: Buffer | undefined,
  { timeoutMs, answerBytesMax }: { readonly timeoutMs: number; readonly answerBytesMax: number },
): Promise<PooledAnswer> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    let hasAnswer = false;
    // What is known from the status on is told, also when the rest does not come.
    const fail = (message: string) => {
      if (hasAnswer) return;
      clearTimeout(timer);
      reject(new NoAnswerError(message, isConnected && req.writableFinished));
    };
    const timer = setTimeout(() => {
      fail(`There was no answer within ${timeoutMs / 1_000} seconds.`);
      req.destroy();
    }, timeoutMs);
    req.on('socket', (socket) => {
      // A socket that another request had is connected already, whether or not this one had to wait for it.
      isConnected = !isConnecting(socket);
      if (!isConnected) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => (isConnected = true));
    });
    req.on('response', (answer) => {
      hasAnswer = true;
      void collected(answer, answerBytesMax).then(({ body, isComplete }) => {
        clearTimeout(timer);
        // A server that has answered early may never read the rest: the connection would be taken for ever.
        if (!req.writableFinished) req.destroy();
        resolve({ status: answer.statusCode ?? 0, headers: headersOf(answer), body, isComplete });
      });
    });
    // Nobody has asked for another protocol.
    req.on('upgrade', (_answer, socket) => {
      socket.destroy();
      fail('The server answered with another protocol (status 101).');
    });
    req.on('error', (error) => fail(connectionFaultInWords(error).message));
    req.on('close', () => fail('The connection was closed.'));
    req.end(content);
  });
}

function isConnecting(socket: Socket): boolean {
  if (socket.connecting || !(socket instanceof TLSSocket)) return socket.connecting;
  const protocol = socket.getProtocol();
  return protocol === null || protocol === 'unknown';
}

/** Never throws: the status is known already. */
async function collected(answer: IncomingMessage, bytesMax: number): Promise<{ body: Buffer; isComplete: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer) {
      if (!Buffer.isBuffer(chunk)) continue;
      chunks.push(chunk.subarray(0, Math.max(0, bytesMax - bytes)));
      bytes += chunk.length;
      if (bytes > bytesMax) break;
    }
  } catch {
    return { body: Buffer.concat(chunks), isComplete: false };
  }
  return { body: Buffer.concat(chunks), isComplete: answer.complete && bytes <= bytesMax };
}

function headersOf({ headersDistinct }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]));
}

function isAddress(hostname: string): boolean {
  return /^[\d.]+$|^\[/.test(hostname);
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
