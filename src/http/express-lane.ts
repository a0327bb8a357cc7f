/**
 * The short way for requests that come by the thousand: nothing is made for each of them but its answer. They are not
 * numbered, and not logged one by one but counted, in one line per address and interval. They come here from the door
 * (express-door.ts), or from `node:http` where their connection carries other requests, too.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../lib/log.ts';
import { safetyHeaders, type HttpsOnly } from './exchange.ts';

/** A GET without a body, as far as it is looked at. */
export interface ExpressRequest {
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

export interface ExpressAnswer {
  readonly status: 200 | 302;
  /** Names and values in turn, beside those that every answer carries. */
  readonly headers: readonly string[];
  /** A byte a letter. */
  readonly body: string;
}

/** Takes over the request, answers it once and later, and says true; or leaves it alone and says false: it then goes the usual way. */
export type ExpressHandler = (
  req: ExpressRequest,
  ipAddress: string,
  answer: (answer: ExpressAnswer) => void,
) => boolean;

/** Where the answer goes. */
export interface ExpressReply {
  answer(answer: ExpressAnswer): void;
  /** Ends the connection without one. */
  cut(): void;
}

export interface ExpressLane {
  /** Whether any mount has one. */
  readonly isOpen: boolean;
  /** Names and values in turn: what every answer carries. */
  readonly headers: readonly string[];
  /** Whether it has taken over the request. */
  ask(req: ExpressRequest, reply: ExpressReply): boolean;
  /** The same for what `node:http` has read. */
  take(req: IncomingMessage, res: ServerResponse): boolean;
  /** Logs what was counted. */
  close(): void;
}

export interface ExpressLaneOptions {
  readonly mounts: readonly { readonly prefix: string; readonly express?: ExpressHandler }[];
  readonly log: Log;
  readonly httpsOnly: HttpsOnly;
  readonly addressOf: (req: ExpressRequest) => string;
}

interface Stop {
  readonly prefix: string;
  readonly below: string;
  readonly handle: ExpressHandler;
  count: number;
}

const LOG_EVERY_MS = 10_000;

/** The lane of those mounts that have one: GETs without a body, of addresses below their prefix. */
export function openExpressLane({ mounts, log, httpsOnly, addressOf }: ExpressLaneOptions): ExpressLane {
  const headers = Object.entries(safetyHeaders(httpsOnly)).flat();
  const stops = mounts.flatMap(({ prefix, express: handle }): Stop[] =>
    handle ? [{ prefix, below: `${prefix}/`, handle, count: 0 }] : [],
  );
  const tell = (): void => {
    for (const stop of stops) {
      if (stop.count > 0) log.info('http.requests', { route: stop.prefix, count: stop.count });
      stop.count = 0;
    }
  };
  const timer = stops.length > 0 ? setInterval(tell, LOG_EVERY_MS).unref() : undefined;
  function ask(req: ExpressRequest, reply: ExpressReply): boolean {
    const { url = '' } = req;
    const stop = stops.find(({ below }) => url.startsWith(below));
    if (!stop) return false;
    const guarded = <Outcome>(act: () => Outcome): Outcome | undefined => {
      try {
        return act();
      } catch (error) {
        log.error('http.defect', { error, route: stop.prefix });
        reply.cut();
        return undefined;
      }
    };
    const isTaken = guarded(() => stop.handle(req, addressOf(req), (answer) => guarded(() => reply.answer(answer))));
    if (isTaken === true) stop.count++;
    // After a defect nothing is left to take over.
    return isTaken !== false;
  }
  return {
    isOpen: stops.length > 0,
    headers,
    ask,
    take: (req, res) => isPlain(req) && ask(req, replyWith(res, headers)),
    close() {
      clearInterval(timer);
      tell();
    },
  };
}

function replyWith(res: ServerResponse, always: readonly string[]): ExpressReply {
  return {
    answer({ status, headers, body }) {
      res.writeHead(status, [...always, ...headers, 'Content-Length', String(body.length)]);
      res.end(body, 'latin1');
    },
    cut: () => void res.destroy(),
  };
}

function isPlain({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}
