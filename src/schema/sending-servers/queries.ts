/** Reading sending servers: the caller's own. */
import { viewerOf } from '../../domain/context.ts';
import { ownSendingServer } from '../../domain/sending/own-sending-server.ts';
import { builder } from '../builder.ts';
import { countedPage, pageArgs } from '../page.ts';
import { readSendingRoutes } from '../../domain/sending/set-routes.ts';
import { SendingRouteType } from './sending-route.ts';
import { SendingServer, SendingServerPage, SendingServerType } from './sending-server.ts';

const reading = { scope: 'sending-servers:read' } as const;

builder.queryField('sendingServer', (t) =>
  t.prismaField({
    type: SendingServer,
    description: 'One sending server.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await ownSendingServer(ctx, uid);
      return ctx.prisma.sendingServer.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.queryField('sendingServers', (t) =>
  t.prismaConnection(
    {
      type: SendingServer,
      cursor: 'customerId_id',
      description: 'The sending servers, the oldest first.',
      authScopes: reading,
      resolve: (query, _root, _args, ctx) =>
        ctx.prisma.sendingServer.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'asc' },
        }),
    },
    { name: 'SendingServerConnection' },
    { name: 'SendingServerEdge' },
  ),
);

builder.queryField('sendingServersPage', (t) =>
  t.field({
    type: SendingServerPage,
    description: 'The same by numbered pages.',
    authScopes: reading,
    args: pageArgs(),
    resolve: (_root, args, ctx) => {
      const where = { customerId: viewerOf(ctx).customerId };
      return countedPage(args, {
        find: (window) => ctx.prisma.sendingServer.findMany({ where, orderBy: { id: 'asc' }, ...window }),
        count: () => ctx.prisma.sendingServer.count({ where }),
      });
    },
  }),
);

builder.queryField('sendingServerTypes', (t) =>
  t.field({
    type: [SendingServerType],
    description: 'What can be created here.',
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
