/**
 * The entry point of the REST facade: finds the row, reads the request, runs the row under the caller's token and writes the
 * answer. It has no database handle and no rule.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Router from 'find-my-way';
import { messageOf, PluginFailedError } from '../lib/errors.ts';
import { answerMemoryOf } from '../lib/large-answers.ts';
import { isUnavailable, unavailableMessage } from '../lib/is-unavailable.ts';
import type { CountRequest } from '../lib/rate-limit.ts';
import type { Execute } from './call.ts';
import type { Dialect } from './dialects.ts';
import type { Documents } from './documents.ts';
import { RestError, defectAnswer, unavailableAnswer } from './errors.ts';
import type { IdempotentCalls, KeptAnswer } from './idempotency.ts';
import { hasBody } from './read-request.ts';
import { requestGate } from './request-gate.ts';
import type { Row, View } from './row.ts';
import { runRow, tokenOf, type Download, type RestExchange, type SessionOf } from './run-row.ts';

// An address of 254 octets, each of them percent-encoded.
const PATH_PARAMETER_LENGTH_MAX = 800;
/** Characters. */
const SHORT_BODY = 65_536;
const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] as const;

export interface RestHandlerOptions {
  readonly rows: readonly Row[];
  readonly documents: Documents;
  readonly execute: Execute;
  /** The installation's dialect, if neither header nor token names one. */
  readonly dialect: Dialect;
  /** The prefix of all rows: `/api/v1`. */
  readonly prefix: string;
  readonly product: View['product'];
  /** Absent: there is no limit on requests. */
  readonly countRequest?: CountRequest | undefined;
  /** Absent: `Idempotency-Key` is ignored. */
  readonly idempotentCalls?: IdempotentCalls | undefined;
  readonly sessionOf?: SessionOf | undefined;
}

export type RestHandler = (req: IncomingMessage, res: ServerResponse, exchange: RestExchange) => Promise<void>;

/** The handler for everything below the prefix. Throws when a row names an operation that has no document. */
export function createRestHandler(options: RestHandlerOptions): RestHandler {
  const router = routerOf(options);
  const view: View = {
    dialect: options.dialect,
    apiUrl: options.product.baseUrl + options.prefix,
    product: options.product,
  };
  return async (req, res, exchange) => {
    const [path = '/', query = ''] = splitOnce(req.url ?? '/', '?');
    const gate = requestGate(options.countRequest, { res, ipAddress: exchange.ipAddress });
    try {
      if (req.method === 'OPTIONS')
        return answerOptions(res, methodsAt(router, path.slice(options.prefix.length) || '/'));
      // A caller whose token is in the body is counted when the body was read.
      const named = tokenOf(req, query);
      if (named !== null || !hasBody(req)) await gate.pass(named);
      const { row, params } = find(router, req.method ?? 'GET', path.slice(options.prefix.length) || '/');
      exchange.route = `${options.prefix}${row.path}`;
      const url = view.apiUrl + path.slice(options.prefix.length);
      const request = { req, query, url, exchange, gate, answer: answerMemoryOf(res), row, params };
      const answer = await runRow(request, { ...options, view });
      if ('stream' in answer) await writeStream(req, res, answer);
      else write(req, res, answer);
    } catch (error) {
      const uncounted = await gate.pass(null).then(
        () => error,
        (limited: unknown) => limited,
      );
      refuse(req, res, uncounted, exchange);
    }
  };
}

type Rows = ReturnType<typeof routerOf>;

function routerOf({ rows, documents }: RestHandlerOptions) {
  const router = Router({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: PATH_PARAMETER_LENGTH_MAX,
  });
  for (const row of rows) {
    const missing = row.operations.find((name) => !documents.has(name));
    if (missing) throw new Error(`The row ${row.path} names the operation ${missing}, which has no document.`);
    router.on([row.method].flat(), row.path, () => undefined, row);
  }
  return router;
}

function find(
  router: Rows,
  method: string,
  path: string,
): { row: Row; params: Readonly<Record<string, string | undefined>> } {
  // A HEAD request is a GET whose body is not written.
  const wanted = METHODS.find((name) => name === (method === 'HEAD' ? 'GET' : method));
  const found = wanted && router.find(wanted, path);
  const row: Row | undefined = found?.store;
  if (found && row && slotsOf(row) === 0) return { row, params: found.params };
  const others = methodsAt(router, path);
  if (found && row && others.some((name) => name === wanted)) return { row, params: found.params };
  const message = others.length > 0 ? `This endpoint takes ${others.join(', ')}.` : 'There is no such endpoint.';
  throw new RestError(404, { message }, others.length > 0 ? { Allow: others.join(', ') } : {});
}

/** The methods that are taken at this path. */
function methodsAt(router: Rows, path: string): string[] {
  // `/subscribers/export` is an address of its own: for other methods it is not the subscriber called "export".
  const rows = METHODS.flatMap((name): [string, Row][] => {
    const row: Row | undefined = router.find(name, path)?.store;
    return row ? [[name, row]] : [];
  });
  const least = Math.min(...rows.map(([, one]) => slotsOf(one)));
  return rows.flatMap(([name, one]) => (slotsOf(one) === least ? [name] : []));
}

/** Without a token: a browser asks so before a page of another origin may call (decision D59). */
function answerOptions(res: ServerResponse, methods: readonly string[]): void {
  if (methods.length === 0) throw new RestError(404, { message: 'There is no such endpoint.' });
  res.writeHead(204, { Allow: [...methods, 'OPTIONS'].join(', ') }).end();
}

function slotsOf({ path }: Row): number {
  return path.split(':').length - 1;
}

function write(req: IncomingMessage, res: ServerResponse, { status, headers, body }: Omit<KeptAnswer, 'upload'>): void {
  // A long text takes three times its length until the client has it; a short one goes out with its head at once.
  const whole = body.length > SHORT_BODY ? Buffer.from(body) : body;
  res.writeHead(status, {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(whole),
    'Cache-Control': 'no-store',
  });
  res.end(req.method === 'HEAD' ? undefined : whole);
}

/**
 * Waits until the client has taken the written bytes or is gone. A long download waits thousands of times, so no listener may
 * remain.
 */
async function taken(res: ServerResponse): Promise<void> {
  // The client is gone: nobody to answer.
  if (res.destroyed) return;
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(res, 'drain', { signal }), once(res, 'close', { signal })]).finally(() => over.abort());
}

async function writeStream(
  req: IncomingMessage,
  res: ServerResponse,
  { stream: { contentType, fileName, pieces }, headers }: Download,
): Promise<void> {
  res.writeHead(200, {
    ...headers,
    'Content-Type': contentType,
    'Content-Disposition': `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`,
    'Cache-Control': 'no-store',
  });
  if (req.method !== 'HEAD') {
    for await (const piece of pieces) {
      if (res.destroyed) return;
      if (!res.write(piece)) await taken(res);
    }
  }
  res.end();
}

function refuse(req: IncomingMessage, res: ServerResponse, error: unknown, exchange: RestExchange): void {
  const known = error instanceof RestError ? error : unexpectedAnswer(error, exchange);
  // The rest of the body is read and dropped: a client that still sends would not see an answer on a closed connection.
  if (!req.readableEnded) req.unpipe().resume();
  // A half-sent download cannot become another answer: the client must see that it broke off.
  if (res.headersSent) return void res.destroy();
  write(req, res, { status: known.status, headers: known.headers, body: JSON.stringify(known.body) });
}

function unexpectedAnswer(error: unknown, exchange: RestExchange): RestError {
  if (isUnavailable(error)) {
    exchange.log.warn('rest.unavailable', { message: messageOf(error) });
    return unavailableAnswer(unavailableMessage(error));
  }
  if (error instanceof PluginFailedError) return defectAnswer(exchange.requestId, error.message);
  exchange.log.error('rest.defect', { error, reference: exchange.requestId });
  return defectAnswer(exchange.requestId);
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
