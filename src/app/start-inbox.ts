/**
 * The built-in inbox, a development receiver. It runs until there is a real sending server, so that a first campaign arrives
 * somewhere. One process of an installation runs it.
 */
import type { Settings } from '../config/settings.ts';
import { tryLockForSession } from '../db/lock.ts';
import type { Context } from '../domain/context.ts';
import {
  developmentServerPort,
  hasRealSendingServer,
  retireDevelopmentServer,
  useDevelopmentServer,
} from '../domain/sending/development-server-store.ts';
import type { Mount } from '../http/http-server.ts';
import { inboxMount } from '../inbox/inbox-handler.ts';
import type { InboxServer } from '../inbox/inbox-server.ts';
import { createInboxStore, type InboxStore } from '../inbox/inbox-store.ts';
import { rightsOf } from './page-rights.ts';

export interface RunningInbox {
  /** Port of the SMTP receiver; null: it does not run. */
  readonly port: number | null;
  readonly mounts: readonly Mount[];
  close(): Promise<void>;
}

const NONE: RunningInbox = { port: null, mounts: [], close: async () => undefined };
const LOCK = 'mailwright:inbox';

/** Runs the inbox when the settings ask for it; in a second process it only shows what the first receives. */
export async function startInbox(ctx: Context, settings: Settings): Promise<RunningInbox> {
  const isWanted = settings.INBOX === 'on' || (settings.INBOX === 'auto' && !(await hasRealSendingServer(ctx)));
  if (!isWanted) {
    await retireDevelopmentServer(ctx);
    return NONE;
  }
  const store = createInboxStore(ctx.database);
  const mounts = [inboxMount({ store, rightsOf: (req, caller) => rightsOf(ctx, req, caller.ipAddress || null) })];
  // The connection holds the lock as long as the process lives. When the process is killed, the lock is free at once.
  const client = await ctx.database.pool.connect();
  if (!(await tryLockForSession(client, LOCK))) {
    client.release();
    return { port: await developmentServerPort(ctx), mounts, close: async () => undefined };
  }
  const server = await listenSomewhere(ctx, settings.INBOX_SMTP_PORT, store);
  await useDevelopmentServer(ctx, server.port);
  return {
    port: server.port,
    mounts,
    async close() {
      await server.close();
      client.release(true);
    },
  };
}

/** Another program may use the default port; then any free port is taken. */
async function listenSomewhere(ctx: Context, port: number, store: InboxStore): Promise<InboxServer> {
  const { startInboxServer } = await import('../inbox/inbox-server.ts');
  const options = { log: ctx.log, storeBatch: store.storeBatch };
  try {
    return await startInboxServer({ ...options, port });
  } catch {
    const server = await startInboxServer({ ...options, port: 0 });
    ctx.log.warn('inbox.other_port', { wanted: port, port: server.port });
    return server;
  }
}
