/**
 * One live driver per sending server and process, shared by all jobs; and the permits that limit the messages in flight to what
 * the driver can take. A server whose settings changed gets a new driver; its health stays.
 */
import { hostname } from 'node:os';
import type { HookCalls, SendingDriver, SendingDriverRegistration } from '../../plugin-api/index.ts';
import { messageOf } from '../../lib/errors.ts';
import { SharedReads } from '../../lib/shared-reads.ts';
import type { Context } from '../context.ts';
import { driverOfType, missingDriver } from './driver-of-type.ts';
import { driverOptions } from './driver-options.ts';
import { doesGrow } from './connections-setting.ts';
import { FairPermits } from './fair-permits.ts';
import { JobLine } from './routing/job-line.ts';
import { parseDomainLimits } from './routing/domain-limits.ts';
import { createMailboxGroups, type ResolveMx } from './routing/mailbox-group.ts';
import { quotaOf } from './routing/paces.ts';
import { pickServer } from './routing/pick-server.ts';
import { ServerConnections } from './routing/server-connections.ts';
import { ServerHealth } from './routing/server-health.ts';
import { createSendingGate, type ConnectionFeedback, type SendingGate } from './sending-gate.ts';
import { serversFor, type RoutedServer } from './sending-server-read-model.ts';
import { PreparedSenders } from './prepared-senders.ts';
import { programFault } from './program-rule.ts';
import { parsePublicSettings, unsealSecrets } from './server-secrets.ts';

/** What the sending loop needs of its server. */
export interface SendingChannel {
  readonly serverId: bigint;
  readonly serverUid: string;
  readonly serverName: string;
  readonly driver: SendingDriver;
  readonly senders: Pick<PreparedSenders, 'prepare'>;
  /** How long its vendor recognises a repeated message by its key; undefined: it knows no keys. */
  readonly keySeconds: number | undefined;
  /** Our own signature would be lost. */
  readonly signsDkim: boolean;
  readonly permits: FairPermits;
  readonly gate: SendingGate;
  /** For jobs that wait for its pace. */
  readonly line: JobLine;
}

export interface DriverPool {
  /**
   * The channel of the server that a customer's next batch goes through (sending-server-read-model.ts, pick-server.ts);
   * undefined: there is none, or it cannot be opened (its driver is gone, its secrets are sealed with another key),
   * which the log says. Without a campaign the customer's own choice counts.
   */
  channelFor(ctx: Context, customerId: bigint, campaignId?: bigint): Promise<SendingChannel | undefined>;
  /** The same by what the database says from now on: a read that is under way may be older than what was just written. */
  channelAfresh(ctx: Context, customerId: bigint, campaignId: bigint): Promise<SendingChannel | undefined>;
  /** The next best one, when some cannot be used; undefined when there is none. */
  channelBeside(
    ctx: Context,
    mail: { customerId: bigint; campaignId: bigint | undefined; without: ReadonlySet<bigint> },
  ): Promise<SendingChannel | undefined>;
  /** Lets every driver finish and closes it. */
  close(): Promise<void>;
}

/** RFC 5321 4.5.3.2.6: the answer to the final dot may take ten minutes. */
const REPLY_TIMEOUT_MS = 600_000;

const COMPLAINT_INTERVAL_MS = 60_000;

/** Further options of a pool. */
export interface DriverPoolOptions {
  /** Looks up the provider of a domain while a provider is held back; absent: known domains only. */
  readonly resolveMx?: ResolveMx | undefined;
}

/** Customers whose pace is remembered; others are read again. */
const CUSTOMERS_MAX = 10_000;

/** A pool with nothing connected. */
export function createDriverPool(hooks: HookCalls, { resolveMx }: DriverPoolOptions = {}): DriverPool {
  const channels = new Map<bigint, Opened>();
  const health = new Map<bigint, ServerHealth>();
  const groups = createMailboxGroups(resolveMx);
  const sendsPerHour = new Map<bigint, number>();
  const complain = createComplaints();
  const startedAt = performance.now();
  let last: Pick<Context, 'database' | 'log'> | undefined;
  const gateOf = (server: RoutedServer, connections: ConnectionFeedback): SendingGate => {
    const known = health.get(server.id) ?? new ServerHealth(server.id);
    known.lookAgain();
    health.set(server.id, known);
    return createSendingGate(
      { ...pacedServer(server), paceOfCustomer: (customerId) => sendsPerHour.get(customerId) },
      { health: known, groups, connections },
    );
  };
  /** The open channel of a server that was chosen for the customer. */
  const channelOf = (ctx: Context, customerId: bigint, server: RoutedServer): SendingChannel | undefined => {
    last = ctx;
    if (sendsPerHour.size > CUSTOMERS_MAX) sendsPerHour.clear();
    if (server.sends_per_hour === null) sendsPerHour.delete(customerId);
    else sendsPerHour.set(customerId, server.sends_per_hour);
    const known = channels.get(server.id);
    const registration = driverOfType(hooks, server.type);
    if (known?.version === server.version && known.registration === registration) {
      known.connections.seen(server);
      return known.channel;
    }
    try {
      const opened = openChannel(ctx, registration, { server, gateOf, startedAt });
      channels.set(server.id, opened);
      void closeOld(ctx, known);
      return opened.channel;
    } catch (error) {
      // Its plugin was deactivated, or replaced by one that does not open it.
      if (channels.delete(server.id)) void closeOld(ctx, known);
      return complain(ctx, customerId, `Sending server ${server.uid} cannot be opened: ${messageOf(error)}`);
    }
  };
  const reads = new SharedReads<readonly RoutedServer[]>();
  const serversOf = ({ db }: Context, customerId: bigint, campaignId: bigint | undefined) =>
    reads.read(db, `${customerId} ${campaignId ?? ''}`, () => serversFor(db, customerId, campaignId ?? null));
  const bestOf = (ctx: Context, customerId: bigint, servers: readonly RoutedServer[]) => {
    const server = pickServer(servers, Math.random());
    return server
      ? channelOf(ctx, customerId, server)
      : complain(ctx, customerId, 'There is no active sending server.');
  };
  return {
    async channelFor(ctx, customerId, campaignId) {
      return bestOf(ctx, customerId, await serversOf(ctx, customerId, campaignId));
    },
    async channelAfresh(ctx, customerId, campaignId) {
      return bestOf(ctx, customerId, await serversFor(ctx.db, customerId, campaignId));
    },
    async channelBeside(ctx, { customerId, campaignId, without }) {
      const servers = await serversOf(ctx, customerId, campaignId);
      const others = servers.filter(({ id }) => !without.has(id));
      const server = pickServer(others, Math.random());
      return server && channelOf(ctx, customerId, server);
    },
    async close() {
      const open = [...channels.values()];
      channels.clear();
      await Promise.all(open.map(({ channel }) => channel.driver.close()));
      if (last) await closeHealth(last, health.values());
    },
  };
}

/** Messages in flight on it are finished there. */
async function closeOld({ log }: Context, old: Opened | undefined): Promise<void> {
  await old?.channel.driver
    .close()
    .catch((error: unknown) => log.warn('sending.close_failed', { message: messageOf(error) }));
}

async function closeHealth(
  { database, log }: Pick<Context, 'database' | 'log'>,
  health: Iterable<ServerHealth>,
): Promise<void> {
  await Promise.all([...health].map((one) => one.close(database, log)));
}

/** Logs why a customer has no server, but not for every batch. */
function createComplaints(): (ctx: Context, customerId: bigint, message: string) => undefined {
  const complainedAt = new Map<bigint, number>();
  return (ctx, customerId, message) => {
    if (performance.now() < (complainedAt.get(customerId) ?? -Infinity) + COMPLAINT_INTERVAL_MS) return;
    complainedAt.set(customerId, performance.now());
    ctx.log.warn('sending.no_server', { customerId, message });
  };
}

interface Opened {
  readonly version: string;
  readonly registration: SendingDriverRegistration | undefined;
  readonly channel: SendingChannel;
  readonly connections: ServerConnections;
}

interface Opening {
  readonly server: RoutedServer;
  readonly gateOf: (server: RoutedServer, connections: ConnectionFeedback) => SendingGate;
  /** When this process began to send. */
  readonly startedAt: number;
}

function openChannel(
  ctx: Context,
  registration: SendingDriverRegistration | undefined,
  { server, gateOf, startedAt }: Opening,
): Opened {
  if (!registration) throw new Error(missingDriver(ctx.hooks, server.type) ?? '');
  const secrets = unsealSecrets(ctx.installation.secret, server.uid, server.sealed_settings);
  const settings = { ...parsePublicSettings(server.settings), ...secrets };
  const fault = programFault(ctx, registration, { isSystem: server.is_system, settings });
  if (fault !== null) throw new Error(fault);
  const driver = registration.connect(
    settings,
    driverOptions(
      ctx,
      { isSystem: server.is_system },
      {
        connectionsMax: server.connections_max,
        clientName: clientName(ctx.installation.baseUrl),
        replyTimeoutMs: REPLY_TIMEOUT_MS,
        onConnectionRefused: (beganAt) => connections.pushedBack(beganAt),
      },
    ),
  );
  const permits = new FairPermits(driver.capacity);
  const connections = new ServerConnections({
    ctx,
    serverId: server.id,
    max: server.connections_max,
    isGrowing: doesGrow(registration),
    driver,
    permits,
    startedAt,
  });
  connections.seen(server);
  const channel = {
    serverId: server.id,
    serverUid: server.uid,
    serverName: server.name,
    driver: registration.releasesContent ? driver : withOwnCopies(driver),
    senders: new PreparedSenders(driver),
    keySeconds: registration.idempotencyKeySeconds,
    signsDkim: registration.signsDkim === true,
    permits,
    gate: gateOf(server, connections),
    line: new JobLine(),
  };
  return { version: server.version, registration, channel, connections };
}

/** For a driver that may keep the content: the host reuses the memory of its own bytes. */
function withOwnCopies(driver: SendingDriver): SendingDriver {
  return {
    get capacity() {
      return driver.capacity;
    },
    send: (message) => driver.send({ ...message, content: new Uint8Array(message.content) }),
    test: () => driver.test(),
    close: () => driver.close(),
  };
}

/** The paces of a server's row. */
function pacedServer(server: RoutedServer) {
  const { id, warm_up, warm_up_started_at, warm_up_stopped_at } = server;
  return {
    serverId: id,
    quota: quotaOf(server),
    domainLimits: parseDomainLimits(server.domain_limits),
    warmUp:
      warm_up !== null && warm_up_started_at !== null
        ? { serverId: id, schedule: warm_up, startedAt: warm_up_started_at, isStopped: warm_up_stopped_at !== null }
        : undefined,
  };
}

function clientName(baseUrl: string): string {
  const name = new URL(baseUrl).hostname;
  return name === 'localhost' || /^[\d.]+$|^\[/.test(name) ? hostname() : name;
}
