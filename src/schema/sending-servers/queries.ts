/** Reading sending servers: the caller's own. */
import { findOwnedSendingServer } from '../../domain/sending/find-owned-sending-server.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { readSendingRoutes } from '../../domain/sending/set-routes.ts';
import { SendingRouteType } from './sending-route.ts';
import { SendingServer, SendingServerType } from './sending-server.ts';

const reading = { scope: 'sending-servers:read' } as const;

builder.queryField('sendingServer', (t) =>
  t.prismaField({
    type: SendingServer,
    description: 'One sending server.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedSendingServer(ctx, uid);
      return ctx.prisma.sendingServer.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const index = nounIndex('SendingServer', SendingServer, {
  access: reading,
  count: (ctx, where) => ctx.prisma.sendingServer.count({ where }),
  find: (ctx, query) => ctx.prisma.sendingServer.findMany(query),
});
index.connection('sendingServers', {
  description: 'The sending servers, the oldest first.',
  order: 'asc',
  whereOf: ownRows,
});
index.pages('sendingServersPage', { description: 'The same by numbered pages.', order: 'asc', whereOf: ownRows });

builder.queryField('sendingServerTypes', (t) =>
  t.field({
    type: [SendingServerType],
    description: 'The kinds of sending servers that can be created here.',
    authScopes: reading,
    resolve: (_root, _args, ctx) => [...ctx.hooks.collect('register_sending_server_driver')],
  }),
);

builder.queryField('sendingRoutes', (t) =>
  t.field({
    type: [SendingRouteType],
    description: "The customer's own choice of servers by weight; empty: as its plan says.",
    authScopes: reading,
    resolve: async (_root, _args, ctx) => [...(await readSendingRoutes(ctx))],
  }),
);
