/**
 * `/metrics` in the form of Prometheus: figures of the whole installation, read from the database for each scrape, and figures of
 * this process. Closed unless the operator has set who may read it. No tenant's data: labels are kinds of jobs, uids of system
 * servers, states and patterns of paths.
 */
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../db/database.ts';
import type { Context } from '../domain/context.ts';
import { addressMatcher } from '../http/client-address.ts';
import type { AnsweredRequest } from '../http/exchange.ts';
import type { Mount } from '../http/http-server.ts';
import { sendJson } from '../http/send-json.ts';
import { sameBytes, sha256 } from '../lib/crypto.ts';
import { isProxied } from '../lib/is-proxied.ts';
import { addInstallationMetrics } from './installation-metrics.ts';

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
