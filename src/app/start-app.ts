/** The composition root: creates all modules in order, connects them, and stops them in reverse order. It contains no rules. */
import type { Settings } from '../config/settings.ts';
import { durabilityFaults } from '../db/durability.ts';
import { freePort } from '../db/free-port.ts';
import { openNotifications } from '../db/listen.ts';
import { createAuditTrail } from '../domain/accounts/audit-trail.ts';
import { bootstrapInstallation, type Bootstrapped } from '../domain/installation/bootstrap-installation.ts';
import { createSecurityEvents } from '../domain/accounts/security-events.ts';
import type { Context } from '../domain/context.ts';
import { makePartitions } from '../domain/delivery/ledger/make-partitions.ts';
import { flushAnnouncements } from '../domain/statistics/announce-campaign-change.ts';
import { startTrackingEventConsumer } from '../domain/tracking/tracking-event-consumer.ts';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { FaultCounts } from '../plugin-host/fault-counts.ts';
import type { HookBus } from '../plugin-host/hook-bus.ts';
import type { BannerFacts } from './banner.ts';
import { loadInstallation } from './installation.ts';
import { requireListening } from './listening.ts';
import { openReleases } from './open-releases.ts';
import { openLiveSettings } from './live-settings.ts';
import { openMigratedDatabase } from './open-database.ts';
import { openPlugins } from './open-plugins.ts';
import { recordLastEnds, type ParentLink } from './parent-link.ts';
import { startInbox } from './start-inbox.ts';
import type { WebOptions } from './start-web.ts';
import { startWorker, type RunningWorker } from './start-worker.ts';
import { version } from './version.ts';
import { HELD, startHeartbeat } from './heartbeat.ts';
import { startWorkerProcesses } from './worker-processes.ts';

export interface App extends BannerFacts {
  readonly ctx: Context;
  readonly hooks: HookBus;
  readonly port: number;
  /** Stops everything, the embedded database last. Messages in flight get `graceMs` to end. */
  stop(graceMs?: number): Promise<void>;
}

/** Why the worker waits while the web server opens: after a death in the middle of a campaign, sending would make that take twice as long. */
const OPENING = 'the web server opens';

/** Ctrl-C must end within ten seconds: SMTP dialogues get this long, the rest is for the database. */
const STOP_GRACE_MS = 7_000;

export interface StartOptions {
  /** Called as soon as the credentials exist, so that the operator sees them even if the start fails later. */
  readonly show?: (made: Bootstrapped) => void;
  /** The process that has started this one. */
  readonly parent?: ParentLink | undefined;
  /** Where faults of plugins are counted that nobody has caught. */
  readonly faults?: FaultCounts;
}

/** Starts what the settings ask for. If something fails, it stops what has been started before it throws. */
export async function startApp(settings: Settings, log: Log, options: StartOptions = {}): Promise<App> {
  const closers = new AsyncDisposableStack();
  try {
    return await compose(settings, { log, closers, ...options });
  } catch (error) {
    await closers.disposeAsync();
    throw error;
  }
}

async function compose(
  settings: Settings,
  { log, show, parent, faults, closers }: StartOptions & { log: Log; closers: AsyncDisposableStack },
): Promise<App> {
  const port = await portOf(settings);
  const opened = await openMigratedDatabase(settings, log, parent?.startEmbedded);
  closers.defer(() => opened.close());
  const { database, isEmbedded } = opened;
  // Logged as an error at every start: a test installation may run without it, but an operator must know.
  for (const fault of await durabilityFaults(database)) log.error('database.not_durable', { ...fault });
  const { hooks, plugins, follow, serve } = openPlugins(settings, log, faults);
  const notifications = closers.adopt(openNotifications(database, log), (it) => it.close());
  const live = closers.adopt(await openLiveSettings(database, { notifications, log }), (it) => it.close());
  const installation = await loadInstallation(settings, { port, database, live });
  const audit = createAuditTrail(database, log);
  closers.defer(() => audit.close());
  const releases = openReleases(settings, { closers, notifications, parent, log });
  const ctx: Context = {
    releases,
    db: database,
    database,
    tx: undefined,
    hooks,
    plugins,
    clock: systemClock,
    log,
    viewer: null,
    ipAddress: null,
    securityEvents: createSecurityEvents({ log, audit }),
    installation,
  };
  if (parent) await recordLastEnds(ctx, parent);
  closers.adopt(await follow(ctx, { audit, notifications }), (it) => it.close());
  await makePartitions(ctx);
  const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password, ADMIN_API_TOKEN: apiToken } = settings;
  const bootstrapped = await bootstrapInstallation(ctx, { email, password, apiToken });
  if (bootstrapped) show?.(bootstrapped);
  closers.defer(() => flushAnnouncements(ctx));
  // A web server's is in inbound-mounts.ts. Other processes have one for what a dead web server left behind.
  if (!settings.ROLES.includes('web')) closers.adopt(startTrackingEventConsumer(ctx), (it) => it.close());

  const inbox = closers.adopt(await startInbox(ctx, settings), (it) => it.close());
  const heartbeat = await startHeartbeat({ ctx, settings, isEmbedded, version: version(), hookFaults: hooks.faults });
  closers.defer(() => heartbeat.close());
  let waitMs = 0;
  const pausedFor = heartbeat.isHeld() ? HELD : settings.ROLES.includes('web') ? OPENING : undefined;
  const worker = await startWorker(ctx, settings, { notifications, pausedFor });
  closers.defer(() => worker.stop(waitMs));
  heartbeat.watch(worker);
  const others = startWorkerProcesses({ settings, databaseUrl: database.url, ctx });
  closers.defer(() => others.stop());
  if (settings.ROLES.includes('web'))
    await openEntryPoints({ ctx, audit, settings, port, notifications, inbox, worker, heartbeat, serve }, closers);

  return {
    ctx,
    hooks,
    port,
    baseUrl: installation.baseUrl,
    roles: settings.ROLES,
    inboxPort: inbox.port,
    stop(graceMs = STOP_GRACE_MS) {
      waitMs = graceMs;
      // At once, while the web server stops: that may take some time.
      worker.beginStop();
      others.beginStop(graceMs);
      return closers.disposeAsync();
    },
  };
}

async function portOf({ PORT, HOST, ROLES }: Settings): Promise<number> {
  const port = PORT || (await freePort());
  if (ROLES.includes('web')) await requireListening(HOST, port);
  return port;
}

type EntryPoints = WebOptions & { readonly worker: RunningWorker };

/** Loaded only where requests are served: the schema and Prisma need as much memory as everything else together. */
async function openEntryPoints(options: EntryPoints, closers: AsyncDisposableStack): Promise<void> {
  const [{ startBounces }, { startWeb }] = await Promise.all([import('./start-bounces.ts'), import('./start-web.ts')]);
  const bounces = await startBounces(options.ctx, options.settings);
  closers.defer(() => bounces.close());
  const web = await startWeb(options);
  closers.defer(() => web.close());
  options.worker.resume(OPENING);
}
