/**
 * One live driver per sending server and process, shared by all jobs; and the permits that keep the number of
 * messages in flight at what the driver can take. A server whose settings changed gets a new driver.
 */
import { hostname } from 'node:os';
import { sql } from '../../db/database.ts';
import type { Hooks, SendingDriver } from '../../plugin-api/index.ts';
import { messageOf } from '../../lib/errors.ts';
import { addressGuard } from '../../lib/public-address.ts';
import type { Context } from '../context.ts';
import { chosenServer } from './choose-server.ts';
import { FairPermits } from './fair-permits.ts';
import { createSendingGate, type SendingGate } from './sending-gate.ts';
import { parsePublicSettings, unsealSecrets } from './server-secrets.ts';
import type { SendingQuota } from './take-quota.ts';

/** What the sending loop needs to know of the server it sends through. */
export interface SendingChannel {
  readonly serverId: bigint;
  readonly serverUid: string;
  readonly serverName: string;
  readonly driver: SendingDriver;
  readonly permits: FairPermits;
  readonly gate: SendingGate;
  readonly turns: Turns;
}

export interface DriverPool {
  /**
   * The channel of the server a customer sends through now (choose-server.ts); undefined: there is none,
   * or it cannot be opened (its driver is gone, its secrets are sealed with another key), which the log says.
   */
  channelFor(ctx: Context, customerId: bigint): Promise<SendingChannel | undefined>;
  /** Lets every driver finish and lets go of it. */
  close(): Promise<void>;
}

interface ServerRow {
  id: bigint;
  uid: string;
  name: string;
  type: string;
  settings: unknown;
  sealed_settings: Buffer | null;
  is_system: boolean;
  connections_max: number;
  quota_value: number | null;
  quota_base: number | null;
  quota_unit: string | null;
  version: string;
}

const SERVER_COLUMNS = sql`s.id, s.uid, s.name, s.type, s.settings, s.sealed_settings, s.is_system, s.connections_max,
  s.quota_value, s.quota_base, s.quota_unit, s.updated_at::text AS version`;

/** RFC 5321 4.5.3.2.6: the answer to the final dot may take ten minutes. */
const REPLY_TIMEOUT_MS = 600_000;

/** However many wait for a pace, a newcomer is not sent to the end of a line longer than this. */
const TURN_WAIT_SECONDS_MAX = 60;
const COMPLAINT_INTERVAL_MS = 60_000;

const SECONDS_PER_UNIT = new Map([
  ['second', 1],
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
  ['month', 2_592_000],
]);

/** A pool with nothing connected. */
export function createDriverPool(hooks: Hooks): DriverPool {
  const channels = new Map<bigint, { version: string; channel: SendingChannel }>();
  const complain = createComplaints();
  return {
    async channelFor(ctx, customerId) {
      const server = await chooseServer(ctx, customerId);
      if (!server) return complain(ctx, customerId, 'There is no active sending server.');
      const known = channels.get(server.id);
      if (known?.version === server.version) return known.channel;
      try {
        const channel = openChannel(ctx, hooks, server);
        channels.set(server.id, { version: server.version, channel });
        // Messages under way on the old one are finished there.
        known?.channel.driver
          .close()
          .catch((error: unknown) => ctx.log.warn('sending.close_failed', { message: messageOf(error) }));
        return channel;
      } catch (error) {
        return complain(ctx, customerId, `Sending server ${server.uid} cannot be opened: ${messageOf(error)}`);
      }
    },
    async close() {
      const open = [...channels.values()];
      channels.clear();
      await Promise.all(open.map(({ channel }) => channel.driver.close()));
    },
  };
}

/** Logs why a customer has no server, once in a while: every batch of every campaign asks. */
function createComplaints(): (ctx: Context, customerId: bigint, message: string) => undefined {
  const complainedAt = new Map<bigint, number>();
  return (ctx, customerId, message) => {
    if (performance.now() < (complainedAt.get(customerId) ?? -Infinity) + COMPLAINT_INTERVAL_MS) return;
    complainedAt.set(customerId, performance.now());
    ctx.log.warn('sending.no_server', { customerId, message });
  };
}

async function chooseServer(ctx: Context, customerId: bigint): Promise<ServerRow | undefined> {
  const rows = await ctx.db.query<ServerRow & Record<string, unknown>>(
    chosenServer(SERVER_COLUMNS, sql`${customerId}::bigint`),
    'sending.choose-server',
  );
  return rows[0];
}

function openChannel(ctx: Context, hooks: Hooks, server: ServerRow): SendingChannel {
  const registration = hooks.collect('register_sending_server_driver').find((entry) => entry.type === server.type);
  if (!registration) throw new Error(`No plugin provides the driver "${server.type}" of sending server ${server.uid}.`);
  const secrets = unsealSecrets(ctx.installation.secret, server.uid, server.sealed_settings);
  const driver = registration.connect(
    { ...parsePublicSettings(server.settings), ...secrets },
    {
      connectionsMax: server.connections_max,
      clientName: clientName(ctx.installation.baseUrl),
      replyTimeoutMs: REPLY_TIMEOUT_MS,
      // A customer's server must still be at a public address when it is connected to (decision D44).
      ...(server.is_system ? {} : { lookup: addressGuard(ctx.installation.outboundAllowHosts).lookup }),
    },
  );
  return {
    serverId: server.id,
    serverUid: server.uid,
    serverName: server.name,
    driver,
    permits: new FairPermits(driver.capacity),
    gate: createSendingGate({ serverId: server.id, quota: quotaOf(server) }),
    turns: new Turns(),
  };
}

function quotaOf({ quota_value, quota_base, quota_unit }: ServerRow): SendingQuota | null {
  if (quota_value === null || quota_value < 0) return null;
  return {
    value: quota_value,
    periodSeconds: (quota_base ?? 1) * (SECONDS_PER_UNIT.get(quota_unit ?? 'hour') ?? 3_600),
  };
}

function clientName(baseUrl: string): string {
  const name = new URL(baseUrl).hostname;
  return name === 'localhost' || /^[\d.]+$|^\[/.test(name) ? hostname() : name;
}

/**
 * Spreads the jobs that wait for one server's pace: were they all to come back when there is a little to take, a
 * thousand jobs would ask, once a second, for the ten messages of that second.
 */
export class Turns {
  #lastAt = 0;

  /** Seconds until a turn of one's own, given after how many there is something to take: two turns in that time. */
  nextInSeconds(waitSeconds: number): number {
    const now = performance.now() / 1_000;
    const soonest = now + waitSeconds;
    const inLine = Math.max(soonest, this.#lastAt + waitSeconds / 2);
    this.#lastAt = inLine - soonest > TURN_WAIT_SECONDS_MAX ? soonest : inLine;
    return this.#lastAt - now;
  }
}
