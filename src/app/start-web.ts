/** The web server of this process: what is mounted where. */
import type { Settings } from '../config/settings.ts';
import { databaseNow } from '../db/now.ts';
import type { Notifications } from '../db/listen.ts';
import { openPrisma } from '../db/prisma.ts';
import { REQUEST_LIMITS } from '../db/work-limits.ts';
import type { AuditTrail } from '../domain/accounts/audit-trail.ts';
import { createRequestLimit } from '../domain/accounts/count-requests.ts';
import type { CountRequest } from '../lib/rate-limit.ts';
import { createKeptCalls } from '../domain/accounts/idempotent-calls.ts';
import type { Context } from '../domain/context.ts';
import { readPreviewPage } from '../domain/campaigns/read-preview-page.ts';
import { webViewOf } from '../domain/delivery/campaigns/web-view.ts';
import { nowhere, openGeoLocator } from '../domain/tracking/geo-locator.ts';
import { assetMount } from '../http/asset-mount.ts';
import { crossOrigin } from '../http/cross-origin.ts';
import { healthMounts, type ReadinessChecks } from '../http/health-handlers.ts';
import type { HttpsOnly } from '../http/exchange.ts';
import { startHttpServer, type Mount } from '../http/http-server.ts';
import { PLAIN_POLICY } from '../http/own-page.ts';
import { captchaFiles } from '../inbound/captcha.ts';
import { createInbound, type Inbound } from '../inbound/inbound-mounts.ts';
import { loadDocuments } from '../rest-facade/documents.ts';
import { parseKeptAnswer } from '../rest-facade/idempotency.ts';
import { rows } from '../rest-facade/rows.ts';
import { createGraphqlServer, type GraphqlServer, type GraphqlServerOptions } from '../schema/graphql-server.ts';
import { graphqlReference } from '../schema/reference-page.ts';
import { landingMounts } from './landing.ts';
import { openPluginRows, type PluginRows } from './plugin-rows.ts';
import { GRAPHQL_REFERENCE_PATH, restMounts } from './rest-mounts.ts';
import { ownHostOnly } from './link-hosts.ts';
import { cannotListen } from './listening.ts';
import { createMetrics } from './metrics.ts';
import type { OpenPlugins } from './open-plugins.ts';
import { poolSizesOf } from './open-database.ts';
import type { RunningInbox } from './start-inbox.ts';
import type { RunningWorker } from './start-worker.ts';
import type { ProcessHeartbeat } from './heartbeat.ts';

export interface WebOptions {
  readonly ctx: Context;
  readonly audit: AuditTrail;
  readonly settings: Settings;
  readonly port: number;
  readonly notifications: Notifications;
  readonly inbox: RunningInbox;
  /** Readiness includes whether these work. */
  readonly worker: Pick<RunningWorker, 'isWorking' | 'queueProblem'>;
  /** Takes the server for operations of plugins. */
  readonly serve: OpenPlugins['serve'];
  readonly heartbeat: Pick<ProcessHeartbeat, 'checkDisk' | 'isHeld'>;
}

export interface RunningWeb {
  close(): Promise<void>;
}

/** How long requests under way may take at the end. */
const CLOSE_WAIT_MS = 3_000;

/** Starts the web server. Throws a sentence with what to do when it cannot. */
export async function startWeb(options: WebOptions): Promise<RunningWeb> {
  const { audit, settings, port, notifications, inbox } = options;
  // First: a file that cannot be used stops the start before anything else is open.
  const places =
    settings.GEOIP_FILE === '' ? nowhere : await openGeoLocator({ file: settings.GEOIP_FILE, log: options.ctx.log });
  const ctx = forRequests(options);
  const prisma = openPrisma(ctx.database);
  const countRequest = createRequestLimit(
    { perToken: settings.RATE_LIMIT, perAddress: settings.RATE_LIMIT_STRANGERS ?? settings.RATE_LIMIT },
    ctx,
  );
  const graphql = openGraphql(options, { ...ctx, audit, prisma, notifications }, countRequest);
  const documents = loadDocuments(graphql.schema);
  const pluginRows = openPluginRows({ hooks: ctx.hooks, log: ctx.log, graphql, rows, documents });
  const inbound = await createInbound(ctx, {
    ...{ work: options.ctx, ...PAGES, framers: settings.CORS_ORIGINS, places, countRequest },
  });
  const metrics = createMetrics({ ctx, settings, pools: { requests: ctx.database, work: options.ctx.database } });
  const server = await startHttpServer({
    observe: metrics.observe,
    host: settings.HOST,
    port,
    log: ctx.log,
    trustedProxies: settings.TRUSTED_PROXIES,
    httpsOnly: httpsOnlyOf(ctx.installation.baseUrl, settings),
    mounts: [
      // For any host name, and answered without the database.
      ...healthMounts(readinessOf(options, inbound)),
      ...metrics.mounts,
      ...ownHostOnly(ctx, [
        crossOrigin(
          { prefix: '/graphql', handle: graphql.handle, upgrade: graphql.upgrade },
          () => settings.CORS_ORIGINS,
        ),
        // An operator who hides the schema hides its reference, too.
        ...(settings.GRAPHQL_EXPLORER === 'on' ? [schemaMount(graphql)] : []),
        ...restMountsOf({ ctx, settings, graphql, pluginRows, countRequest }),
        ...captchaFiles.map(assetMount),
        ...inbound.mounts,
        ...inbox.mounts,
        ...landingMounts(ctx, { hasInbox: inbox.port !== null, hasExplorer: settings.GRAPHQL_EXPLORER === 'on' }),
      ]),
    ],
  }).catch((error: unknown) => {
    throw cannotListen(error, settings.HOST, port);
  });
  return {
    async close() {
      pluginRows.close();
      // Websockets first: they would keep the server open.
      await graphql.close();
      await server.close(CLOSE_WAIT_MS);
      await inbound.close();
      places.close();
      await prisma.$disconnect();
    },
  };
}

/** The server for clients and for plugins. */
function openGraphql(
  { settings, serve }: WebOptions,
  means: GraphqlServerOptions['means'],
  countRequest: CountRequest | undefined,
): GraphqlServer {
  return serve(
    createGraphqlServer({
      ...{ means, countRequest, origins: settings.CORS_ORIGINS },
      explorer: settings.GRAPHQL_EXPLORER === 'on',
    }),
  );
}

interface RestParts {
  readonly ctx: Context;
  readonly settings: Settings;
  readonly graphql: GraphqlServer;
  readonly pluginRows: PluginRows;
  readonly countRequest: CountRequest | undefined;
}

function restMountsOf({ ctx, settings, graphql, pluginRows, countRequest }: RestParts): Mount[] {
  return restMounts({
    rowsInUse: pluginRows.current,
    execute: graphql.execute,
    dialect: settings.REST_DIALECT,
    baseUrl: ctx.installation.baseUrl,
    origins: settings.CORS_ORIGINS,
    hasGraphqlReference: settings.GRAPHQL_EXPLORER === 'on',
    countRequest,
    idempotentCalls: createKeptCalls(
      { database: ctx.database, secret: ctx.installation.secret, log: ctx.log },
      parseKeptAnswer,
    ),
  });
}

/** What pages show that the module of the pages cannot compose by itself. */
const PAGES = { webView: webViewOf, preview: readPreviewPage };

function schemaMount({ live }: GraphqlServer): Mount {
  const schema = () => live.current.schema;
  const read = () => graphqlReference(schema(), 'Mailwright');
  return assetMount({
    ...{ path: GRAPHQL_REFERENCE_PATH, contentType: 'text/html; charset=utf-8', policy: PLAIN_POLICY, read },
    madeFrom: schema,
  });
}

/** The context for requests, with separate connections and shorter time limits. */
function forRequests({ ctx, settings }: WebOptions): Context {
  const database = ctx.database.besides({
    poolSize: poolSizesOf(settings).requests,
    applicationName: 'mailwright-requests',
    limits: REQUEST_LIMITS,
  });
  return { ...ctx, db: database, database };
}

function httpsOnlyOf(baseUrl: string, { HSTS_SUBDOMAINS }: Settings): HttpsOnly {
  if (!baseUrl.startsWith('https:')) return 'nothing';
  return HSTS_SUBDOMAINS === 'on' ? 'subdomains' : 'host';
}

function readinessOf({ ctx, worker, heartbeat }: WebOptions, inbound: Inbound): ReadinessChecks {
  return {
    checks: {
      database: async () => {
        const silentMs = ctx.database.silentMs();
        if (silentMs !== undefined) throw new Error(`It has not answered for ${Math.round(silentMs / 1_000)} s.`);
        await databaseNow(ctx.db);
      },
      worker: async () => {
        if (!worker.isWorking()) throw new Error('The worker of this process is not working.');
      },
      queue: async () => {
        const problem = worker.queueProblem();
        if (problem !== undefined) throw new Error(`The queue does not answer: ${problem}`);
      },
      disk: () => heartbeat.checkDisk(),
    },
    // The process is ready all the same: people must be able to confirm, and the administrator must be able to log in.
    notes: () => [
      ...(heartbeat.isHeld() ? ['The installation is on hold as a restored backup: nothing is sent.'] : []),
      ...inbound.notes(),
    ],
  };
}
