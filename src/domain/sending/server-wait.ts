/**
 * What prevents a campaign's servers from sending, and until when. Computed when it is read, from what the gate has stored
 * (health, paces, warm-up); sending stores nothing for it.
 */
import type { Queryable } from '../../db/database.ts';
import type { CodedReason, NoParams } from '../../lib/coded-reason.ts';
import { quotaOf, type Pace } from './routing/paces.ts';
import { serverStates, type ServerState } from './sending-server-read-model.ts';

/** By code, the parameters of its text (campaigns/status-reason.ts). */
export interface ServerWaitParams {
  no_server: NoParams;
  /** `until` null: it is being tried. */
  server_paused: {
    readonly server: string;
    readonly since: string | null;
    readonly until: string | null;
    readonly error: string | null;
  };
  warm_up_stopped: { readonly server: string };
  warm_up_day_full: { readonly server: string; readonly messages: number | null; readonly until: string };
  server_rate: {
    readonly server: string;
    readonly messages: number | null;
    readonly period: string;
    readonly next: string;
  };
  customer_rate: { readonly messages: number; readonly next: string };
}

export interface ServerWait {
  readonly reason: CodedReason<ServerWaitParams>;
  /** Nothing has to be corrected: it continues automatically. */
  readonly isInOrder: boolean;
}

/** A message at shorter intervals is slow, not waiting. */
const PACE_SECONDS_MIN = 5;
/** Jobs return one after the other; a message that is due for longer waits for something else. */
const LATE_SECONDS = 60;
const ERROR_LENGTH_MAX = 300;

/** For each campaign, in order; undefined: one of the servers for its next batch sends now. */
export async function serverWaits(
  db: Queryable,
  keys: readonly { customerId: bigint; campaignId: bigint }[],
): Promise<(ServerWait | undefined)[]> {
  const rows = await serverStates(db, keys);
  const byCampaign = Map.groupBy(rows, ({ no }) => no);
  return keys.map((_key, index) => waitOf(byCampaign.get(index + 1) ?? []));
}

function waitOf(servers: readonly ServerState[]): ServerWait | undefined {
  if (servers.length === 0) return { reason: { code: 'no_server', params: {} }, isInOrder: false };
  const able = servers.filter((server) => !unusable(server));
  // Without weights the first one that can carry everything, as fast as it may.
  const carrying = able[0]?.weight === null ? able.slice(0, 1) : able;
  const waits = carrying.length > 0 ? carrying.map(paced) : servers.toSorted(soonest).map(unusable);
  return waits.every((wait) => wait !== undefined) ? waits[0] : undefined;
}

function unusable(row: ServerState): ServerWait | undefined {
  const { name: server, isResting, isStopped, dayEndsAt, dayLimit, restsSince, restsUntil, error } = row;
  if (isResting) {
    const params = {
      server,
      since: restsSince?.toISOString() ?? null,
      until: restsUntil?.toISOString() ?? null,
      error: error?.slice(0, ERROR_LENGTH_MAX) ?? null,
    };
    return { reason: { code: 'server_paused', params }, isInOrder: false };
  }
  if (isStopped) return { reason: { code: 'warm_up_stopped', params: { server } }, isInOrder: false };
  if (dayEndsAt === null) return undefined;
  const params = { server, messages: dayLimit, until: dayEndsAt.toISOString() };
  return { reason: { code: 'warm_up_day_full', params }, isInOrder: true };
}

/** A pace so slow that it looks like a stop; the slower one of the server's and the customer's. */
function paced(row: ServerState): ServerWait | undefined {
  const { name: server, sendsPerHour, quota_base: base, quota_unit: unit, quota_value: messages } = row;
  const customers = sendsPerHour === null ? null : { value: sendsPerHour, periodSeconds: 3_600 };
  const period = (base ?? 1) === 1 ? (unit ?? 'hour') : `${base} ${unit ?? 'hour'}s`;
  const ofServer = nextMessage(quotaOf(row), row);
  if (ofServer !== undefined)
    return { reason: { code: 'server_rate', params: { server, messages, period, next: ofServer } }, isInOrder: true };
  const next = nextMessage(customers, { tokens: row.customerTokens, refilledAt: row.customerRefilledAt });
  if (next === undefined || sendsPerHour === null) return undefined;
  return { reason: { code: 'customer_rate', params: { messages: sendsPerHour, next } }, isInOrder: true };
}

/** When the next message is sent; undefined: soon. */
function nextMessage(
  pace: Pace | null,
  { tokens, refilledAt }: Pick<ServerState, 'tokens' | 'refilledAt'>,
): string | undefined {
  if (pace === null || tokens === null || refilledAt === null) return undefined;
  const secondsEach = pace.periodSeconds / pace.value;
  if (secondsEach < PACE_SECONDS_MIN) return undefined;
  const at = refilledAt.getTime() + Math.max(0, 1 - tokens) * secondsEach * 1_000;
  if (at < Date.now() - LATE_SECONDS * 1_000) return undefined;
  return new Date(Math.max(at, Date.now())).toISOString();
}

/** Paused and tried ones come first, then those whose day is used up. */
function soonest(a: ServerState, b: ServerState): number {
  return Number(isFull(a)) - Number(isFull(b)) || (a.restsUntil?.getTime() ?? 0) - (b.restsUntil?.getTime() ?? 0);
}

function isFull({ isResting, isStopped, dayEndsAt }: ServerState): boolean {
  return !isResting && (isStopped || dayEndsAt !== null);
}
