/** The state of a sending server: its health, its connections, its warm-up, its limits. */
import { growingTypes } from '../../domain/sending/connections-setting.ts';
import { connectionsOfServers } from '../../domain/sending/routing/connections-store.ts';
import {
  healthOfServers,
  warmUpOfServers,
  type HealthRow,
  type WarmUpState,
} from '../../domain/sending/routing/sending-health-read-model.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { SendingServer } from './sending-server.ts';

const reading = { scope: 'sending-servers:read' } as const;

/** `closed` means healthy: the word is a circuit breaker's. */
const HealthState = builder.enumType('SendingHealthState', {
  description:
    'State of the breaker: CLOSED: mail is sent. OPEN: nothing is sent. HALF_OPEN: a few messages are tried.',
  values: {
    CLOSED: { value: 'closed', description: 'Mail is sent.' },
    OPEN: { value: 'open', description: 'Nothing is sent.' },
    HALF_OPEN: { value: 'half-open', description: 'A few messages are tried.' },
  } as const,
});

type ShownHealth = Omit<HealthRow, 'serverId' | 'changedAt'> & { readonly changedAt: Date | null };

const SendingHealth = builder.objectRef<ShownHealth>('SendingHealth').implement({
  authScopes: reading,
  fields: (t) => ({
    mailboxes: t.exposeString('group', {
      description: 'A provider or domain behind the server; empty: the server itself.',
    }),
    state: t.expose('state', { type: HealthState }),
    failures: t.exposeInt('failures', { description: 'Failures in a row.' }),
    slots: t.exposeInt('slots', { description: 'Number of messages at once while it is half-open.' }),
    restsUntil: t.expose('restsUntil', { type: 'DateTime', nullable: true }),
    lastError: t.exposeString('lastError', { nullable: true }),
    changedAt: t.expose('changedAt', { type: 'DateTime', nullable: true }),
  }),
});

const WarmUp = builder
  .objectRef<{
    schedule: unknown;
    stoppedAt: Date | null;
    stopReason: string | null;
    warmUpState: WarmUpState | undefined;
  }>('SendingServerWarmUp')
  .implement({
    description: "A new server's first weeks.",
    authScopes: reading,
    fields: (t) => ({
      schedule: t.field({ type: 'JsonObject', resolve: ({ schedule }) => recordOf(schedule) }),
      day: t.int({ description: 'Counted from 1.', resolve: ({ warmUpState }) => warmUpState?.day ?? 1 }),
      limitToday: t.int({
        nullable: true,
        description: 'Null: the warm-up has ended, there is no limit any more.',
        resolve: ({ warmUpState }) => warmUpState?.limit ?? null,
      }),
      usedToday: t.int({ resolve: ({ warmUpState }) => warmUpState?.used ?? 0 }),
      bouncedToday: t.int({ resolve: ({ warmUpState }) => warmUpState?.bounced ?? 0 }),
      stoppedAt: t.expose('stoppedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'The warm-up was stopped, because too many messages bounced: see `stopReason`.',
      }),
      stopReason: t.exposeString('stopReason', { nullable: true }),
    }),
  });

builder.prismaObjectField(SendingServer, 'health', (t) =>
  t.field({
    type: SendingHealth,
    description: 'The server as a whole.',
    select: { id: true },
    resolve: async ({ id }, _args, ctx) => {
      const rows = await loadBy(ctx, readHealth).load(id);
      return rows.find(({ group }) => group === '') ?? WELL;
    },
  }),
);
builder.prismaObjectField(SendingServer, 'mailboxHealth', (t) =>
  t.field({
    type: [SendingHealth],
    description: 'Providers and domains that have trouble: paused, or tried again. The others are healthy.',
    select: { id: true },
    resolve: async ({ id }, _args, ctx) => (await loadBy(ctx, readHealth).load(id)).filter(({ group }) => group !== ''),
  }),
);
builder.prismaObjectField(SendingServer, 'connectionsNow', (t) =>
  t.field({
    type: 'Int',
    description:
      'How many connections it may use now, over all processes. The number grows by itself while more connections send more, and is halved when the server refuses some.',
    select: { id: true },
    resolve: ({ id }, _args, ctx) => loadBy(ctx, readConnections).load(id),
  }),
);
builder.prismaObjectField(SendingServer, 'warmUp', (t) =>
  t.field({
    type: WarmUp,
    nullable: true,
    description: 'Null: it has no warm-up.',
    select: { id: true, warmUp: true, warmUpStoppedAt: true, warmUpStopReason: true },
    resolve: async ({ id, warmUp, warmUpStoppedAt: stoppedAt, warmUpStopReason: stopReason }, _args, ctx) =>
      warmUp === null
        ? null
        : { schedule: warmUp, stoppedAt, stopReason, warmUpState: await loadBy(ctx, readWarmUp).load(id) },
  }),
);
builder.prismaObjectField(SendingServer, 'domainLimits', (t) =>
  t.field({
    type: 'JsonObject',
    description: 'Messages an hour to a provider or domain, by name; `*` is each of the others.',
    select: { domainLimits: true },
    resolve: ({ domainLimits }) => recordOf(domainLimits),
  }),
);

const WELL: ShownHealth = {
  ...{ group: '', state: 'closed', failures: 0, slots: 0 },
  ...{ restsUntil: null, lastError: null, changedAt: null },
};

async function readHealth(ctx: GraphqlContext, ids: readonly bigint[]): Promise<HealthRow[][]> {
  const rows = await healthOfServers(ctx.db, ids);
  return ids.map((id) => rows.filter(({ serverId }) => serverId === id));
}

async function readConnections(ctx: GraphqlContext, ids: readonly bigint[]): Promise<number[]> {
  const rows = await connectionsOfServers(ctx.db, ids, growingTypes(ctx.hooks));
  return ids.map((id) => rows.find(({ serverId }) => serverId === id)?.connections ?? 0);
}

async function readWarmUp(ctx: GraphqlContext, ids: readonly bigint[]): Promise<(WarmUpState | undefined)[]> {
  const rows = await warmUpOfServers(ctx.db, ids);
  return ids.map((id) => rows.find(({ serverId }) => serverId === id));
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
