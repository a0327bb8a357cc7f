/** GraphQL behind a real HTTP server on a real database, with an administrator's token, for tests of the schema. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openNotifications, type Notifications } from '../../src/db/listen.ts';
import { openPrisma } from '../../src/db/prisma.ts';
import { sql } from '../../src/db/database.ts';
import { createAuditTrail } from '../../src/domain/accounts/audit-trail.ts';
import { createSecurityEvents } from '../../src/domain/accounts/security-events.ts';
import { insertApiToken } from '../../src/domain/accounts/api-token-store.ts';
import { bootstrapInstallation } from '../../src/domain/installation/bootstrap-installation.ts';
import type { Context } from '../../src/domain/context.ts';
import { newUid } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { ProcessPlugins } from '../../src/plugin-host/plugin-host.ts';
import { createGraphqlServer, type GraphqlServer } from '../../src/schema/graphql-server.ts';
import { afterFile } from './after-file.ts';
import { giveUnlimitedPlan } from './plans.ts';
import { createTestContext, type TestContext } from './test-context.ts';

const NO_FOLDER = '/nowhere/plugins';

export interface GraphqlAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Record<string, unknown>;
  readonly errors: { message: string; path?: string[]; extensions: Record<string, unknown> }[];
}

export interface GraphqlApp {
  readonly ctx: Context;
  readonly url: string;
  readonly notifications: Notifications;
  readonly server: GraphqlServer;
  readonly admin: { readonly email: string; readonly password: string; readonly token: string };
  /** Lines that were logged, as JSON. */
  readonly logged: string[];
  /** Runs a document over HTTP; without a token given: the administrator's. `null`: a stranger. */
  run(query: string, variables?: Record<string, unknown>, token?: string | null): Promise<GraphqlAnswer>;
  /** A customer of its own with one user; answers its token. */
  newCustomer(
    scopes?: readonly string[],
  ): Promise<{ token: string; customerId: bigint; userId: bigint; email: string }>;
}

/** Starts everything; it ends after the file's last test. */
export async function startGraphqlApp(options: { explorer?: boolean } = {}): Promise<GraphqlApp> {
  const logged: string[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (line) => void logged.push(line) });
  const ctx = await createTestContext({ log });
  const admin = await bootstrapAdmin(ctx);
  const notifications = openNotifications(ctx.database, log);
  const { server, url } = await listen(ctx, { notifications, explorer: options.explorer ?? true });
  return {
    ctx,
    url,
    notifications,
    server,
    admin,
    logged,
    run: (query, variables, token = admin.token) => post(url, { query, variables }, token),
    newCustomer: (scopes) => insertCustomer(ctx, scopes ?? ['*']),
  };
}

async function bootstrapAdmin(ctx: Context): Promise<GraphqlApp['admin']> {
  const made = await bootstrapInstallation(ctx, { email: 'admin@example.com' });
  if (!made?.password || !made.apiToken) throw new Error('The test database was not fresh.');
  return { email: made.email, password: made.password, token: made.apiToken };
}

async function listen(
  ctx: TestContext,
  { notifications, explorer }: { notifications: Notifications; explorer: boolean },
) {
  const prisma = openPrisma(ctx.database);
  const { database, hooks, clock, log, installation } = ctx;
  const places = { bundled: NO_FOLDER, installed: NO_FOLDER };
  const plugins = new ProcessPlugins({ bus: hooks, places, isSafeMode: false, log });
  const audit = createAuditTrail(database, log);
  const securityEvents = createSecurityEvents({ log, audit });
  const server = createGraphqlServer({
    means: { database, hooks, plugins, clock, log, installation, prisma, notifications, audit, securityEvents },
    explorer,
  });
  const http = createServer((req, res) => void server.handle(req, res, { ipAddress: '127.0.0.1' }));
  http.on('upgrade', (req, socket, head) => server.upgrade(req, socket, head, '127.0.0.1'));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  afterFile(async () => {
    await server.close();
    await audit.close();
    await notifications.close();
    await closed(http);
    await prisma.$disconnect();
  });
  const address = http.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${address.port}/graphql` };
}

function closed(http: Server): Promise<void> {
  http.closeAllConnections();
  return new Promise((resolve) => http.close(() => resolve()));
}

async function post(url: string, body: unknown, token: string | null): Promise<GraphqlAnswer> {
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json', ...authorization },
    body: JSON.stringify(body),
  });
  const { data, errors } = await answer.json();
  return { status: answer.status, headers: answer.headers, data: data ?? {}, errors: errors ?? [] };
}

async function insertCustomer(ctx: Context, scopes: readonly string[]) {
  const email = `user-${newUid()}@example.com`;
  const [customer] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`INSERT INTO customer (uid, name) VALUES (${newUid()}, 'Tenant') RETURNING id`,
  );
  const customerId = customer?.id ?? 0n;
  await giveUnlimitedPlan(ctx.db, customerId);
  const [user] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`
    INSERT INTO app_user (customer_id, uid, email, email_key, password_hash)
    VALUES (${customerId}, ${newUid()}, ${email}, ${email}, '') RETURNING id`,
  );
  const userId = user?.id ?? 0n;
  const { token } = await insertApiToken(ctx.db, { customerId, userId, kind: 'primary', name: 'Primary', scopes });
  return { token, customerId, userId, email };
}
