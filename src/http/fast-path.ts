/**
 * The fast path: frequent GETs (opens, clicks) are answered before anything else is created for them. They get no request id and
 * are not logged one by one but counted: one line per prefix and interval.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../lib/log.ts';
import { safetyHeaders, type AnsweredRequest, type HttpsOnly } from './exchange.ts';

export interface FastAnswer {
  readonly status: 200 | 302;
  /** Names and values alternate; further headers besides those of every answer. */
  readonly headers: readonly string[];
  /** One byte per character. */
  readonly body: string;
}

/**
 * Takes over the request, answers it once, maybe later, and returns true; or returns false without touching it, and the mount's
 * `handle` serves it.
 */
export type FastHandler = (req: IncomingMessage, ipAddress: string, answer: (answer: FastAnswer) => void) => boolean;

export interface FastPath {
  /** Whether it has taken over the request. */
  take(req: IncomingMessage, res: ServerResponse): boolean;
  /** Logs what was counted. */
  close(): void;
}

export interface FastPathOptions {
  readonly mounts: readonly { readonly prefix: string; readonly fast?: FastHandler }[];
  readonly log: Log;
  readonly httpsOnly: HttpsOnly;
  readonly addressOf: (req: IncomingMessage) => string;
  /** Whether the server is stopping: then connections are not used again. */
  readonly isClosing: () => boolean;
  readonly observe?: ((request: AnsweredRequest) => void) | undefined;
}

interface Route {
  readonly prefix: string;
  readonly below: string;
  readonly handle: FastHandler;
  count: number;
}

const LOG_EVERY_MS = 10_000;

/** Serves the mounts that have a fast handler: GETs without a body, of addresses below their prefix. */
export function openFastPath({ mounts, log, httpsOnly, addressOf, isClosing, observe }: FastPathOptions): FastPath {
  const always = Object.entries(safetyHeaders(httpsOnly)).flat();
  const atTheEnd = [...always, 'Connection', 'close'];
  const routes = mounts.flatMap(({ prefix, fast: handle }): Route[] =>
    handle ? [{ prefix, below: `${prefix}/`, handle, count: 0 }] : [],
  );
  const report = (): void => {
    for (const route of routes) {
      if (route.count > 0) log.info('http.requests', { route: route.prefix, count: route.count });
      route.count = 0;
    }
  };
  const timer = routes.length > 0 ? setInterval(report, LOG_EVERY_MS).unref() : undefined;
  return {
    take(req, res) {
      const { url = '' } = req;
      const route = routes.find(({ below }) => url.startsWith(below));
      if (!route || !isPlainGet(req)) return false;
      // After a defect no answer is possible: the connection is cut.
      const guarded = <Outcome>(act: () => Outcome): Outcome | undefined => {
        try {
          return act();
        } catch (error) {
          log.error('http.defect', { error, route: route.prefix });
          res.destroy();
          return undefined;
        }
      };
      const startedAt = observe ? performance.now() : 0;
      const isTaken = guarded(() =>
        route.handle(req, addressOf(req), (answer) => {
          // Asked at the time of the answer: the server may have begun to stop since the request came.
          guarded(() => send(res, isClosing() ? atTheEnd : always, answer));
          const seconds = (performance.now() - startedAt) / 1_000;
          observe?.({ method: 'GET', route: route.prefix, status: answer.status, seconds });
        }),
      );
      if (isTaken === true) route.count++;
      return isTaken !== false;
    },
    close() {
      clearInterval(timer);
      report();
    },
  };
}

function send(res: ServerResponse, always: readonly string[], { status, headers, body }: FastAnswer): void {
  res.writeHead(status, [...always, ...headers, 'Content-Length', String(body.length)]);
  res.end(body, 'latin1');
}

function isPlainGet({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}
