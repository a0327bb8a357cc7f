/**
 * The door of the REST facade: finds the row, reads the request, runs the row under the caller's token and writes
 * what came of it. It holds no handle of the database and no rule.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Router from 'find-my-way';
import { messageOf } from '../lib/errors.ts';
import { isUnavailable } from '../lib/is-unavailable.ts';
import type { Log } from '../lib/log.ts';
import type { Answer, TextStream } from './answer.ts';
import type { Bag } from './bag.ts';
import { beginCall, type Execute } from './call.ts';
import { dialectOf, shape, type Dialect, type Shaped } from './dialects.ts';
import type { Documents } from './documents.ts';
import { RestError, defectAnswer, unauthenticated, unavailableAnswer } from './errors.ts';
import { readRequest } from './read-request.ts';
import type { Call, Row, View } from './row.ts';

// An address of 254 octets, each of them percent-encoded.
const PATH_PARAMETER_LENGTH_MAX = 800;
const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] as const;

export interface RestHandlerOptions {
  readonly rows: readonly Row[];
  readonly documents: Documents;
  readonly execute: Execute;
  /** The installation's dialect, where neither header nor token says. */
  readonly dialect: Dialect;
  /** Where the rows hang: `/api/v1`. */
  readonly prefix: string;
  readonly product: View['product'];
}

/** What the web server knows of the request. */
export interface RestExchange {
  readonly requestId: string;
  readonly ipAddress: string;
  readonly log: Log;
  route: string;
}

interface Answered {
  readonly answer: Answer;
  readonly dialect: Dialect;
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
    try {
      const found = find(router, req.method ?? 'GET', path.slice(options.prefix.length) || '/');
      exchange.route = `${options.prefix}${found.row.path}`;
      const { answer, dialect } = await answerOf({ req, query, exchange, ...found }, { ...options, view });
      if (answer.kind === 'stream') await writeStream(req, res, answer.stream);
      else
        write(
          req,
          res,
          shape(answer, dialect, {
            url: view.apiUrl + path.slice(options.prefix.length),
            query: new URLSearchParams(query),
          }),
        );
    } catch (error) {
      refuse(req, res, error, exchange);
    }
  };
}

interface Request {
  readonly req: IncomingMessage;
  readonly query: string;
  readonly exchange: RestExchange;
  readonly row: Row;
  readonly params: Readonly<Record<string, string | undefined>>;
}

async function answerOf(request: Request, around: RestHandlerOptions & { readonly view: View }): Promise<Answered> {
  const { req, query, exchange, row, params } = request;
  const { bag: everything, file, completeBag } = await readRequest(req, query, row.takesFile === true);
  const { api_token: inBag, ...bag } = everything;
  const token = tokenOf(req, query, inBag);
  if (token === null && row.access !== 'public') throw unauthenticated();
  const credentials = { token, ipAddress: exchange.ipAddress };
  const { log, requestId } = exchange;
  const dialect = dialectOf(req.headers['x-api-dialect']);
  const call = beginCall({ row, params, bag, file, completeBag, credentials, dialect, log, requestId }, around);
  // A large upload is not worth reading for a caller that is not known.
  if (row.takesFile || (row.dialectFirst && !dialect)) await call.identify();
  try {
    const answer = await row.run(call);
    return { answer, dialect: call.view().dialect };
  } catch (error) {
    throw await refusalInOrder(error, row, call);
  }
}

/** A stranger learns nothing about what a row wants: 401 and 403 come before 422, though the input was read first. */
async function refusalInOrder(error: unknown, row: Row, call: Call): Promise<unknown> {
  if (!(error instanceof RestError) || error.status !== 422 || row.access === 'public' || call.identified())
    return error;
  return call.identify().then(
    () => error,
    (refused: unknown) => refused,
  );
}

/** Decision D5: the header, then the query, then the body. */
function tokenOf(req: IncomingMessage, query: string, inBag: Bag[string] | undefined): string | null {
  const bearer = /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1];
  const token = bearer ?? (new URLSearchParams(query).get('api_token') || inBag);
  return typeof token === 'string' && token !== '' ? token : null;
}

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
  router: ReturnType<typeof routerOf>,
  method: string,
  path: string,
): { row: Row; params: Request['params'] } {
  // A HEAD request is a GET whose body is not written.
  const wanted = METHODS.find((name) => name === (method === 'HEAD' ? 'GET' : method));
  const found = wanted && router.find(wanted, path);
  if (found && found.store) return { row: found.store, params: found.params };
  const others = METHODS.filter((name) => router.find(name, path)?.store);
  const message = others.length > 0 ? `This endpoint takes ${others.join(', ')}.` : 'There is no such endpoint.';
  throw new RestError(404, { message }, others.length > 0 ? { Allow: others.join(', ') } : {});
}

function write(req: IncomingMessage, res: ServerResponse, { status, headers, body }: Shaped): void {
  const text = JSON.stringify(body);
  res.writeHead(status, {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
  });
  res.end(req.method === 'HEAD' ? undefined : text);
}

async function writeStream(
  req: IncomingMessage,
  res: ServerResponse,
  { contentType, fileName, pieces }: TextStream,
): Promise<void> {
  res.writeHead(200, {
    'Content-Type': contentType,
    'Content-Disposition': `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`,
    'Cache-Control': 'no-store',
  });
  if (req.method !== 'HEAD') {
    for await (const piece of pieces) {
      if (res.destroyed) return;
      if (!res.write(piece)) await Promise.race([once(res, 'drain'), once(res, 'close')]);
    }
  }
  res.end();
}

function refuse(req: IncomingMessage, res: ServerResponse, error: unknown, exchange: RestExchange): void {
  const known = error instanceof RestError ? error : unexpectedAnswer(error, exchange);
  // What is left of the body is read past: a client that is still sending would not see an answer on a closed connection.
  if (!req.readableEnded) req.unpipe().resume();
  // Half a download cannot become an answer: the client must see that it broke off.
  if (res.headersSent) return void res.destroy();
  write(req, res, { status: known.status, headers: known.headers, body: known.body });
}

function unexpectedAnswer(error: unknown, exchange: RestExchange): RestError {
  if (isUnavailable(error)) {
    exchange.log.warn('rest.unavailable', { message: messageOf(error) });
    return unavailableAnswer();
  }
  exchange.log.error('rest.defect', { error, reference: exchange.requestId });
  return defectAnswer(exchange.requestId);
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
