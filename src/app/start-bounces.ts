/** The SMTP server for bounces, in processes that have a port for it. */
import { hostname } from 'node:os';
import type { Settings } from '../config/settings.ts';
import { BOUNCE_SERVER, watchReportSource } from '../domain/bounces/report-source-store.ts';
import type { Context } from '../domain/context.ts';
import { startBounceServer } from '../inbound/bounce-server.ts';
import { messageOf } from '../lib/errors.ts';

export interface RunningBounces {
  /** Null: the server does not run. */
  readonly port: number | null;
  close(): Promise<void>;
}

/** Starts it when the settings ask for it. Throws a sentence with what to do when the port is not free. */
export async function startBounces(ctx: Context, settings: Settings): Promise<RunningBounces> {
  const { BOUNCE_SMTP_PORT: port, BOUNCE_SMTP_HOST: host, BOUNCE_DOMAIN: domain } = settings;
  if (port === null) return { port: null, close: async () => undefined };
  const options = { host, port, name: domain || hostname() };
  const server = await startBounceServer(ctx, options).catch((error: unknown) => {
    throw new Error(
      `The SMTP server for bounces cannot listen on ${host}, port ${port}: ${messageOf(error)}; check BOUNCE_SMTP_HOST and BOUNCE_SMTP_PORT.`,
      { cause: error },
    );
  });
  await watchReportSource(ctx.db, BOUNCE_SERVER);
  ctx.log.info('bounces.listening', { host, port: server.port });
  return server;
}
