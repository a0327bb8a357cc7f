/**
 * `/metrics` in the form of Prometheus: figures of the whole installation, read from the database for each scrape, and figures of
 * this process. Closed unless the operator has set who may read it. No tenant's data: labels are kinds of jobs, uids of system
 * servers, states and patterns of paths.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Settings } from '../config/settings.ts';
import type { Database, Queryable } from '../db/database.ts';
import { stalledCampaigns } from '../domain/campaigns/campaign-progress-store.ts';
import type { Context } from '../domain/context.ts';
import { campaignsByStatus, queueByTask } from '../domain/installation/monitoring-read-model.ts';
import { livingProcesses } from '../domain/installation/process-store.ts';
import { holdOf } from '../domain/installation/restore-guard.ts';
import { restingServers } from '../domain/sending/routing/sending-health-read-model.ts';
import { sendingTotals } from '../domain/sending/sending-total-store.ts';
import { addressMatcher } from '../http/client-address.ts';
import type { AnsweredRequest, Exchange } from '../http/exchange.ts';
import type { Mount } from '../http/http-server.ts';
import { sendJson } from '../http/send-json.ts';
import { sameBytes, sha256 } from '../lib/crypto.ts';
import { messageOf } from '../lib/errors.ts';
import { isProxied } from '../lib/is-proxied.ts';

export interface Metrics {
  readonly mounts: readonly Mount[];
  /** Undefined when nobody may read the metrics. */
  readonly observe: ((request: AnsweredRequest) => void) | undefined;
}

interface MetricsOptions {
  readonly ctx: Context;
  readonly settings: Pick<Settings, 'METRICS_TOKEN' | 'METRICS_ALLOW' | 'TRUSTED_PROXIES'>;
  readonly pools: Readonly<Record<string, Database>>;
}

/** From a hit in memory to the limit of a statement in a request. */
const DURATION_BUCKETS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
/** Several scrapers, or one that asks often, read the database once in this time. */
const CACHE_MS = 2_000;
/** Five heartbeats. */
const ALIVE_SECONDS = 15;
const REFUSED = 'These metrics need the token of METRICS_TOKEN or an address of METRICS_ALLOW.';

/** The metrics of this process. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { METRICS_TOKEN: token, METRICS_ALLOW: allowed, TRUSTED_PROXIES: proxies } = options.settings;
  if (token === '' && allowed.length === 0) return { mounts: [], observe: undefined };
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: 'mailwright_http_request_duration_seconds',
    help: 'Time until the answer was sent, of this process. Websockets and streams count when they end.',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const readPools = addPoolMetrics(registry, options.pools);
  const readInstallation = addInstallationMetrics(registry, options.ctx);
  const isAllowed = addressMatcher(allowed);
  return {
    observe: ({ method, route, status, seconds }) =>
      duration.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, seconds),
    mounts: [
      {
        prefix: '/metrics',
        exact: true,
        async handle(req, res, exchange) {
          const given = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '';
          const hasToken = token !== '' && sameBytes(sha256(given), sha256(token));
          // Through a proxy that is not trusted, everybody has the proxy's address.
          const isKnown = proxies.length > 0 || !isProxied(req.headers);
          if (!hasToken && !(isKnown && isAllowed(exchange.ipAddress))) {
            if (token !== '') res.setHeader('WWW-Authenticate', 'Bearer');
            return sendJson(res, token === '' ? 403 : 401, { message: REFUSED });
          }
          await readInstallation(exchange);
          readPools();
          res.writeHead(200, { 'Content-Type': registry.contentType, 'Cache-Control': 'no-store' });
          res.end(await registry.metrics());
        },
      },
    ],
  };
}

/** Returns what reads the figures. */
function addPoolMetrics(registry: Registry, pools: Readonly<Record<string, Database>>): () => void {
  const connections = new Gauge({
    name: 'mailwright_database_connections',
    help: 'Connections of this process to the database, and statements that wait for one.',
    labelNames: ['pool', 'state'],
    registers: [registry],
  });
  return () => {
    for (const [pool, { pool: its }] of Object.entries(pools)) {
      connections.set({ pool, state: 'used' }, its.totalCount - its.idleCount);
      connections.set({ pool, state: 'idle' }, its.idleCount);
      connections.set({ pool, state: 'waiting' }, its.waitingCount);
    }
  };
}

/** Returns what reads the figures. When the database is away, only `mailwright_database_up` and this process have figures. */
function addInstallationMetrics(registry: Registry, { db }: Context): (exchange: Exchange) => Promise<void> {
  const metrics = installationMetrics(registry);
  const up = new Gauge({
    name: 'mailwright_database_up',
    help: 'Whether the database answered this scrape: without it the figures of the installation are missing.',
    registers: [registry],
  });
  let readAt = -Infinity;
  let reading: Promise<void> | undefined;
  return async ({ log }) => {
    if (performance.now() - readAt < CACHE_MS) return reading;
    readAt = performance.now();
    reading = readInstallation(db, metrics).then(
      () => up.set(1),
      (error: unknown) => {
        log.warn('metrics.not_read', { message: messageOf(error) });
        for (const metric of Object.values(metrics)) metric.reset();
        up.set(0);
      },
    );
    return reading;
  };
}

function installationMetrics(registry: Registry) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({
      name: `mailwright_${name}`,
      help: `${help} Of the whole installation.`,
      labelNames,
      registers: [registry],
    });
  return {
    jobs: gauge('queue_jobs', 'Jobs in the queue.', ['task', 'state']),
    age: gauge('queue_oldest_due_seconds', 'How long the oldest job waits that is due.'),
    campaigns: gauge('campaigns', 'Campaigns that are not finished.', ['status']),
    recipients: gauge('campaign_recipients_waiting', 'Recipients who have not got their message yet.', ['status']),
    stalled: gauge('campaigns_stalled', 'Campaigns under way that make no progress.'),
    messages: new Counter({
      name: 'mailwright_messages_total',
      help: 'What became of messages, by server: the uid of a system server, or "customers". Of the whole installation.',
      labelNames: ['server', 'outcome'],
      registers: [registry],
    }),
    resting: gauge('sending_servers_resting', 'Sending servers that are paused because they had trouble.'),
    processes: gauge('processes', 'Processes that were alive in the last 15 seconds.', ['role']),
    working: gauge('workers_working', 'Processes whose worker takes jobs.'),
    memory: gauge('processes_memory_bytes', 'Resident memory of all processes.'),
    onHold: gauge('on_hold', '1 while nothing is sent because of a restored backup.'),
  };
}

async function readInstallation(db: Queryable, metrics: ReturnType<typeof installationMetrics>): Promise<void> {
  const [queue, byStatus, stalls, totals, resting, alive, hold] = await Promise.all([
    queueByTask(db),
    campaignsByStatus(db),
    stalledCampaigns(db),
    sendingTotals(db),
    restingServers(db),
    livingProcesses(db, ALIVE_SECONDS),
    holdOf(db),
  ]);
  // Kinds and states that are not there any more.
  for (const metric of Object.values(metrics)) metric.reset();
  for (const { task, oldestDueSeconds: _age, ...states } of queue)
    for (const [state, count] of Object.entries(states)) metrics.jobs.set({ task, state }, count);
  metrics.age.set(Math.max(0, ...queue.map(({ oldestDueSeconds }) => oldestDueSeconds)));
  for (const { status, campaigns, open } of byStatus) {
    metrics.campaigns.set({ status }, campaigns);
    metrics.recipients.set({ status }, open);
  }
  metrics.stalled.set(stalls.length);
  for (const { server, outcome, messages } of totals) metrics.messages.inc({ server, outcome }, messages);
  metrics.resting.set(resting);
  for (const { roles } of alive) for (const role of roles) metrics.processes.inc({ role });
  metrics.working.set(alive.filter(({ isWorking }) => isWorking).length);
  metrics.memory.set(alive.reduce((sum, { memoryMb }) => sum + memoryMb * 1_048_576, 0));
  metrics.onHold.set(hold === null ? 0 : 1);
}
