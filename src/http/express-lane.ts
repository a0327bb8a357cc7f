/**
 * The short way for requests that come by the thousand: nothing is made for each of them but its answer. They are not
 * numbered, and not logged one by one but counted, in one line per address and interval.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../lib/log.ts';
import { safetyHeaders } from './exchange.ts';

/** Takes over the request and answers true, or leaves it alone and answers false: it then goes the usual way. */
export type ExpressHandler = (req: IncomingMessage, res: ServerResponse, ipAddress: string) => boolean;

interface ExpressMount {
  readonly prefix: string;
  /** Called once, with the headers that its answers have to carry: names and values in turn. */
  express?(headers: readonly string[]): ExpressHandler;
}

export interface ExpressLane {
  take(req: IncomingMessage, res: ServerResponse, addressOf: (req: IncomingMessage) => string): boolean;
  /** Logs what was counted. */
  close(): void;
}

interface Asked {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly addressOf: (req: IncomingMessage) => string;
}

interface Stop {
  readonly prefix: string;
  readonly below: string;
  readonly handle: ExpressHandler;
  count: number;
}

const LOG_EVERY_MS = 10_000;

/** The lane of those mounts that have one: GETs without a body, of addresses below their prefix. */
export function openExpressLane(mounts: readonly ExpressMount[], log: Log, isHttps: boolean): ExpressLane {
  const headers = Object.entries(safetyHeaders(isHttps)).flat();
  const stops = mounts.flatMap(({ prefix, express }): Stop[] =>
    express ? [{ prefix, below: `${prefix}/`, handle: express(headers), count: 0 }] : [],
  );
  const tell = (): void => {
    for (const stop of stops) {
      if (stop.count > 0) log.info('http.requests', { route: stop.prefix, count: stop.count });
      stop.count = 0;
    }
  };
  const timer = stops.length > 0 ? setInterval(tell, LOG_EVERY_MS).unref() : undefined;
  function serve(stop: Stop, { req, res, addressOf }: Asked): boolean {
    try {
      if (!stop.handle(req, res, addressOf(req))) return false;
      stop.count++;
    } catch (error) {
      log.error('http.defect', { error, route: stop.prefix });
      res.destroy();
    }
    return true;
  }
  return {
    take(req, res, addressOf) {
      const { url = '' } = req;
      for (const stop of stops) {
        if (!url.startsWith(stop.below)) continue;
        return isPlain(req) && serve(stop, { req, res, addressOf });
      }
      return false;
    },
    close() {
      clearInterval(timer);
      tell();
    },
  };
}

function isPlain({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}
