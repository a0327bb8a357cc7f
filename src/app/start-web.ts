/** The web server of this process: what is mounted where. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Settings } from '../config/settings.ts';
import { sql } from '../db/database.ts';
import type { Notifications } from '../db/listen.ts';
import { openPrisma } from '../db/prisma.ts';
import type { Context } from '../domain/context.ts';
import { webViewOf } from '../domain/delivery/web-view.ts';
import { nowhere, openGeoLocator } from '../domain/tracking/geo-locator.ts';
import { healthMounts } from '../http/health-handlers.ts';
import { startHttpServer, type Mount } from '../http/http-server.ts';
import { landingMount } from '../http/landing-page.ts';
import { pageMount } from '../http/page-mount.ts';
import { createInbound } from '../inbound/inbound-mounts.ts';
import { messageOf } from '../lib/errors.ts';
import { loadDocuments } from '../rest-facade/documents.ts';
import { restReference } from '../rest-facade/reference.ts';
import { createRestHandler } from '../rest-facade/rest-handler.ts';
import { rows } from '../rest-facade/rows.ts';
import { createGraphqlServer, type GraphqlServer } from '../schema/graphql-server.ts';
import type { RunningInbox } from './start-inbox.ts';

export interface WebOptions {
  readonly ctx: Context;
  readonly settings: Settings;
  readonly port: number;
  readonly notifications: Notifications;
  readonly inbox: RunningInbox;
  /** Whether this process's worker does what it should; part of readiness. */
  readonly isWorking: () => boolean;
}

export interface RunningWeb {
  close(): Promise<void>;
}

const REST_PREFIX = '/api/v1';
const REFERENCE_PATH = '/docs';
/** Requests under way are given this long at the end. */
const CLOSE_WAIT_MS = 3_000;

/** Serves when the roles say `web`. */
export async function startWeb(options: WebOptions): Promise<RunningWeb> {
  const { ctx, settings, port, notifications, inbox } = options;
  if (!settings.ROLES.includes('web')) return { close: async () => undefined };
  const prisma = openPrisma(ctx.database);
  const graphql = createGraphqlServer({
    means: { ...ctx, prisma, notifications },
    explorer: settings.GRAPHQL_EXPLORER === 'on',
  });
  const places =
    settings.GEOIP_FILE === '' ? nowhere : await openGeoLocator({ file: settings.GEOIP_FILE, log: ctx.log });
  const inbound = createInbound(ctx, { webView: webViewOf, places });
  const server = await startHttpServer({
    host: settings.HOST,
    port,
    log: ctx.log,
    trustedProxies: settings.TRUSTED_PROXIES,
    mounts: [
      ...healthMounts({ database: () => checkDatabase(ctx), worker: () => checkWorker(options) }),
      { prefix: '/graphql', handle: graphql.handle, upgrade: graphql.upgrade },
      ...(await restMounts(ctx, settings, graphql)),
      ...inbound.mounts,
      ...inbox.mounts,
      landing(inbox),
    ],
  }).catch((error: unknown) => {
    throw cannotListen(error, settings.HOST, port);
  });
  return {
    async close() {
      // Sockets first: they would hold the server open.
      await graphql.close();
      await server.close(CLOSE_WAIT_MS);
      await inbound.close();
      places.close();
      await prisma.$disconnect();
    },
  };
}

function cannotListen(error: unknown, host: string, port: number): Error {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const why =
    code === 'EADDRINUSE'
      ? `another program listens there; set PORT to a free one (PORT=0 takes any), or stop the other`
      : code === 'EACCES'
        ? `this user may not use that port; set PORT to one above 1023`
        : `${messageOf(error)}; check HOST and PORT`;
  return new Error(`The web server cannot listen on ${host}, port ${port}: ${why}.`, { cause: error });
}

async function restMounts(ctx: Context, settings: Settings, graphql: GraphqlServer): Promise<Mount[]> {
  const shared = {
    rows,
    prefix: REST_PREFIX,
    product: { name: 'Mailwright', version: version(), baseUrl: ctx.installation.baseUrl },
  };
  const documents = loadDocuments(graphql.schema);
  const handle = createRestHandler({ ...shared, documents, execute: graphql.execute, dialect: settings.REST_DIALECT });
  return [{ prefix: REST_PREFIX, handle }, pageMount(REFERENCE_PATH, await restReference(shared))];
}

function landing(inbox: RunningInbox): Mount {
  return landingMount('Mailwright', [
    { href: '/graphql', label: 'GraphQL explorer', about: 'the whole domain, with live statistics' },
    { href: REFERENCE_PATH, label: 'REST reference', about: 'the same for REST clients' },
    ...(inbox.port === null
      ? []
      : [{ href: '/inbox', label: 'Inbox', about: 'a development receiver: mails end here' }]),
  ]);
}

async function checkDatabase(ctx: Context): Promise<void> {
  await ctx.db.query(sql`SELECT 1`);
}

async function checkWorker({ isWorking }: WebOptions): Promise<void> {
  if (!isWorking()) throw new Error('The worker of this process is not working.');
}

function version(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(path.join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'),
  );
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}
