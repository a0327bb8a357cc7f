/**
 * The built-in inbox, a development receiver. It runs until there is a real sending server, so that a first campaign arrives
 * somewhere. One process of an installation runs it.
 */
import type { IncomingMessage } from 'node:http';
import type { Settings } from '../config/settings.ts';
import { tryLockForSession } from '../db/lock.ts';
import { authenticateToken, type Credential } from '../domain/accounts/authenticate-token.ts';
import { noteRefusedToken } from '../domain/accounts/note-refused-token.ts';
import { sessionForReading, sessionOf } from '../domain/accounts/session-cookie.ts';
import type { Context } from '../domain/context.ts';
import {
  developmentServerPort,
  hasRealSendingServer,
  retireDevelopmentServer,
  useDevelopmentServer,
} from '../domain/sending/development-server-store.ts';
import type { Mount } from '../http/http-server.ts';
import { inboxMount, type InboxRights } from '../inbox/inbox-handler.ts';
import type { InboxServer } from '../inbox/inbox-server.ts';
import { createInboxStore, type InboxStore } from '../inbox/inbox-store.ts';
import { programOf } from '../lib/user-agent.ts';

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

/** The rights of a caller from another machine or through a proxy. */
async function rightsOf(ctx: Context, req: IncomingMessage, ipAddress: string | null): Promise<InboxRights> {
  const credentials = credentialsOf(req, ctx.installation.baseUrl);
  let rights: InboxRights = 'unknown';
  for (const credential of credentials) {
    const found = await authenticateToken(ctx, { ...credential, ipAddress });
    if (found?.viewer.isAdmin) return 'administrator';
    if (found) rights = 'notAdministrator';
  }
  const [first] = credentials;
  if (rights === 'unknown' && first) {
    const client = programOf(req.headers['user-agent']);
    noteRefusedToken(ctx, { ipAddress, client, entryPoint: 'page' }, first);
  }
  return rights;
}

/**
 * An API token (as bearer token or Basic password) and the session of a browser. Both may be sent: the Authorization header may
 * be meant for a proxy.
 */
function credentialsOf(req: IncomingMessage, baseUrl: string): Omit<Credential, 'ipAddress'>[] {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
  const token =
    scheme.toLowerCase() === 'basic'
      ? Buffer.from(credentials, 'base64')
          .toString()
          .replace(/^[^:]*:/, '')
      : credentials;
  const isReading = req.method === 'GET' || req.method === 'HEAD';
  const session = (isReading ? sessionForReading : sessionOf)(req.headers, baseUrl) ?? '';
  return [
    { text: token, isSession: false },
    { text: session, isSession: true },
  ].filter(({ text }) => text !== '');
}
