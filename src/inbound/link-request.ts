/** A request for one of the addresses in mails: its token, who asks, which methods it takes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { nowhere, type GeoLocator } from '../domain/tracking/geo-locator.ts';
import { judgeTrackingEvent } from '../domain/tracking/machine-request.ts';
import type { Visitor } from '../domain/tracking/tracking.ts';
import type { Context } from '../domain/context.ts';
import type { FastHandler } from '../http/fast-path.ts';
import type { Log } from '../lib/log.ts';
import { programOf } from '../lib/user-agent.ts';
import { setPublicHeaders } from './page.ts';

/** What the web server knows of the caller. */
export interface Caller {
  readonly ipAddress: string;
  readonly log: Log;
}

/** Serves everything below one path; has the shape that the web server mounts. */
export interface InboundMount {
  readonly prefix: string;
  handle(req: IncomingMessage, res: ServerResponse, caller: Caller): Promise<void>;
  /** Serves frequent GETs on the fast path. */
  readonly fast?: FastHandler;
}

export interface LinkRequest {
  readonly ctx: Context;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  readonly token: string;
  readonly visitor: Visitor;
}

/** Kept of a User-Agent; longer ones are made up. */
const USER_AGENT_LENGTH_MAX = 500;

/** A mount for `/prefix/<token>` that answers the methods given, OPTIONS among them, and 405 to others. */
export function linkMount(
  ctx: Context,
  {
    prefix,
    methods,
    serve,
    places = nowhere,
  }: {
    prefix: string;
    methods: readonly string[];
    serve: (request: LinkRequest) => Promise<void>;
    /** Finds visitors' countries, for what is recorded with a place. */
    places?: GeoLocator;
  },
): InboundMount {
  const allowed = [...methods, 'OPTIONS'].join(', ');
  return {
    prefix,
    async handle(req, res, caller) {
      const method = req.method ?? 'GET';
      if (!methods.includes(method)) {
        setPublicHeaders(res);
        res.writeHead(method === 'OPTIONS' ? 204 : 405, { Allow: allowed });
        res.end();
        return;
      }
      const visitor = visitorOf(req, caller.ipAddress, places);
      const client = programOf(visitor.userAgent);
      const publicCtx: Context = {
        ...{ ...ctx, log: caller.log, viewer: null, ipAddress: visitor.ip, client, entryPoint: 'page' },
      };
      await serve({ ctx: publicCtx, req, res, method, token: tokenAtStart(tokenOf(req, prefix)), visitor });
    },
  };
}

/** Mail programs append their own parameters; only the path counts. */
export function tokenOf(req: IncomingMessage, prefix: string): string {
  const url = req.url ?? '';
  const end = url.indexOf('?');
  return url.slice(prefix.length + 1, end === -1 ? undefined : end);
}

/**
 * The token at the beginning of `text`. Programs that find addresses in texts include the bracket or full stop after them; others
 * append `&utm_source=...`, `=3D` or a slash, or encode more than necessary.
 */
export function tokenAtStart(text: string): string {
  const plain = text.replace(/%(2d|2e|5f)/gi, (code) => decodeURIComponent(code));
  return /^[\w-]+(?:\.[\w-]+)*/.exec(plain)?.[0] ?? '';
}

const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'];

/** Who asks, and where from, as far as `places` knows. */
export function visitorOf(
  { headers, method = 'GET' }: IncomingMessage,
  ipAddress: string,
  places: GeoLocator,
): Visitor {
  const userAgent = headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX) ?? null;
  let purpose: string | null = null;
  for (const name of PURPOSES) if (headers[name] !== undefined) purpose = `${purpose ?? ''} ${String(headers[name])}`;
  const ip = ipAddress === '' ? null : ipAddress;
  const { looksAhead, isMachine } = judgeTrackingEvent({ method, userAgent, purpose, ip });
  return { ip, userAgent, looksAhead, isMachine, place: ip === null ? undefined : places.locate(ip) };
}
