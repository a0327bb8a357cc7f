/** Changing sending servers. */
import { createSendingServerInput, updateSendingServerInput } from '../../domain/sending/sending-server.ts';
import {
  type ServerTest,
  testSendingServer,
  testServerInput,
} from '../../domain/delivery/messages/test-sending-server.ts';
import { createSendingServer } from '../../domain/sending/create-sending-server.ts';
import { deleteSendingServer } from '../../domain/sending/delete-sending-server.ts';
import { resetServerHealth } from '../../domain/sending/reset-server-health.ts';
import {
  paceInput,
  routesInput,
  setCustomerPace,
  setPlanRoutes,
  setSendingRoutes,
} from '../../domain/sending/set-routes.ts';
import { updateSendingServer } from '../../domain/sending/update-sending-server.ts';
import { Customer } from '../accounts/user.ts';
import { builder } from '../builder.ts';
import { ActiveStatus, QuotaUnit } from '../enums.ts';
import { Plan } from '../plans/plan.ts';
import { SendingServer } from './sending-server.ts';
import { SendingRouteInput, SendingRouteType } from './sending-route.ts';

const writing = { scope: 'sending-servers:write' } as const;
const QUOTA = 'Messages in `quotaBase` `quotaUnit`s, at most; -1 or null: no limit.';
const LIMITS =
  'Messages an hour by provider or domain: `{"gmail.com": 2000, "*": 10000}`; `*` is each of the others. Null: none.';
const WARM_UP =
  'How its daily number grows: `{"kind": "linear", "start": 50, "step": 50, "goal": 5000}`, `"exponential"` with `"factor"`, or `"days"` with a list; `bounce_rate_max` in percent stops it. Null: none.';

builder.mutationField('createSendingServer', (t) =>
  t.prismaFieldWithInput({
    type: SendingServer,
    description:
      "Tries the settings, then stores the server. Made by an administrator it is the system's. Errors of settings are named `settings.<key>`, a failed connection `connection`.",
    authScopes: writing,
    typeOptions: { checks: createSendingServerInput.shape },
    input: {
      name: t.input.string({ required: true }),
      type: t.input.string({ required: true, description: 'One of `sendingServerTypes`.' }),
      settings: t.input.field({ type: 'JsonObject', required: true }),
      defaultFromEmail: t.input.string(),
      quotaValue: t.input.int({ description: QUOTA }),
      quotaBase: t.input.int(),
      quotaUnit: t.input.field({ type: QuotaUnit }),
      domainLimits: t.input.field({ type: 'JsonObject', description: LIMITS }),
      warmUp: t.input.field({ type: 'JsonObject', description: WARM_UP }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await createSendingServer(ctx, input);
      return ctx.prisma.sendingServer.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('updateSendingServer', (t) =>
  t.prismaFieldWithInput({
    type: SendingServer,
    description:
      'Changes the values that are given. Other settings keep their values; changed settings are tried first.',
    authScopes: writing,
    typeOptions: { checks: updateSendingServerInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      type: t.input.string({ description: 'Cannot be changed: another value is refused.' }),
      settings: t.input.field({ type: 'JsonObject' }),
      defaultFromEmail: t.input.string(),
      quotaValue: t.input.int({ description: QUOTA }),
      quotaBase: t.input.int(),
      quotaUnit: t.input.field({ type: QuotaUnit }),
      domainLimits: t.input.field({ type: 'JsonObject', description: LIMITS }),
      warmUp: t.input.field({ type: 'JsonObject', description: WARM_UP }),
      status: t.input.field({ type: ActiveStatus }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await updateSendingServer(ctx, input);
      return ctx.prisma.sendingServer.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const DeletedSendingServer = builder.objectRef<{ uid: string }>('DeletedSendingServer').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteSendingServer', (t) =>
  t.field({
    type: DeletedSendingServer,
    description: 'Refused while unfinished campaigns are sent through it; an inactive server has none.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteSendingServer(ctx, { uid }),
  }),
);

builder.mutationField('resetSendingServerHealth', (t) =>
  t.prismaField({
    type: SendingServer,
    description:
      'For a server that was mended: its rest and those of the providers behind it end at once, and a warm-up that stopped goes on.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await resetServerHealth(ctx, { uid });
      return ctx.prisma.sendingServer.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const SendingServerTest = builder.objectRef<ServerTest>('SendingServerTest').implement({
  description: 'What a sending server answered to a test.',
  authScopes: writing,
  fields: (t) => ({
    uid: t.string({ description: 'Of the server.', resolve: ({ server }) => server.uid }),
    isAccepted: t.exposeBoolean('isAccepted', {
      description: 'Whether the server can be used; with `to`: whether it took the message.',
    }),
    reply: t.exposeString('reply', { description: "The server's reply, or why there is none." }),
    advice: t.exposeString('advice', { nullable: true, description: 'What to do; null when it works.' }),
    durationMs: t.exposeInt('durationMs'),
  }),
});

builder.mutationField('testSendingServer', (t) =>
  t.fieldWithInput({
    type: SendingServerTest,
    description:
      'Connects to a stored sending server and logs in; with `to` it also sends one message there, from `defaultFromEmail`. A failed test is an answer, not an error. At most 60 tests in an hour, and 20 mails to an address in a day.',
    authScopes: writing,
    typeOptions: { checks: testServerInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      to: t.input.string({
        description: 'An address that gets one message. Absent or null: only the connection is tested.',
      }),
    },
    resolve: (_root, { input }, ctx) => testSendingServer(ctx, input),
  }),
);

const SendingRoutes = builder.simpleObject('SendingRoutes', {
  authScopes: writing,
  fields: (t) => ({ servers: t.field({ type: [SendingRouteType] }) }),
});

builder.mutationField('setSendingRoutes', (t) =>
  t.fieldWithInput({
    type: SendingRoutes,
    description: "Chooses the servers of the customer's mail by weight. None or null: as its plan says.",
    authScopes: writing,
    typeOptions: { checks: routesInput.shape },
    input: { servers: t.input.field({ type: [SendingRouteInput] }) },
    resolve: async (_root, { input: { servers } }, ctx) => ({
      servers: [...(await setSendingRoutes(ctx, { servers }))],
    }),
  }),
);

builder.mutationField('setPlanRoutes', (t) =>
  t.prismaFieldWithInput({
    type: Plan,
    description:
      "Chooses which of the system's servers a plan's customers go through, by weight. None or null: no choice.",
    authScopes: { admin: true },
    typeOptions: { checks: routesInput.shape },
    input: {
      planUid: t.input.string({ required: true }),
      servers: t.input.field({ type: [SendingRouteInput] }),
    },
    resolve: async (query, _root, { input: { planUid, servers } }, ctx) => {
      const { id } = await setPlanRoutes(ctx, { planUid, servers });
      return ctx.prisma.plan.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

builder.mutationField('setCustomerPace', (t) =>
  t.prismaFieldWithInput({
    type: Customer,
    description: "How many messages an hour a customer's campaigns send together. Null: as many as its plan allows.",
    authScopes: { admin: true },
    typeOptions: { checks: paceInput.shape },
    input: { customerUid: t.input.string({ required: true }), sendsPerHour: t.input.int() },
    resolve: async (query, _root, { input: { customerUid, sendsPerHour } }, ctx) => {
      const { id } = await setCustomerPace(ctx, { customerUid, sendsPerHour: sendsPerHour ?? null });
      return ctx.prisma.customer.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);
