/** A request below `/plugins/<vendor>/<name>`, as its sections get it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from '../../domain/context.ts';
import type { LivePlugin } from '../../domain/plugin-host.ts';
import type { Caller } from '../link-request.ts';

export interface PluginRequest {
  readonly ctx: Context;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly caller: Caller;
  readonly plugin: LivePlugin;
  /** `/plugins/acme/notes` */
  readonly base: string;
  /** What follows: for a section after its name. As it came, not decoded; empty or with a slash first. */
  readonly path: string;
}

export type PluginSection = (request: PluginRequest) => void | Promise<void>;

/** A short answer without a page. */
export function sendNothing(res: ServerResponse, status: number, message: string): void {
  const text = JSON.stringify({ message });
  res.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
  });
  res.end(res.req.method === 'HEAD' ? undefined : text);
}
