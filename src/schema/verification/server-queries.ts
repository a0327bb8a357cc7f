/** Reading verification servers: the caller's own, and those it may use. */
import { findOwnedVerificationServer } from '../../domain/verification/find-owned-verification-server.ts';
import { usableVerificationServers } from '../../domain/verification/usable-server-read-model.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import {
  EmailVerificationServer,
  EmailVerificationServerType,
  UsableVerificationServer,
} from './verification-server.ts';

const reading = { scope: 'sending-servers:read' } as const;

/** A form shows no more to choose from. */
const USABLE_MAX = 100;

builder.queryField('emailVerificationServer', (t) =>
  t.prismaField({
    type: EmailVerificationServer,
    description: 'One verification server.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedVerificationServer(ctx, uid);
      return ctx.prisma.emailVerificationServer.findUniqueOrThrow({
        ...query,
        where: { customerId_id: { customerId, id } },
      });
    },
  }),
);

const index = nounIndex('EmailVerificationServer', EmailVerificationServer, {
  access: reading,
  count: (ctx, where) => ctx.prisma.emailVerificationServer.count({ where }),
  find: (ctx, query) => ctx.prisma.emailVerificationServer.findMany(query),
});
index.connection('emailVerificationServers', {
  description: 'The verification servers, the oldest first.',
  order: 'asc',
  whereOf: ownRows,
});
index.pages('emailVerificationServersPage', {
  description: 'The same by numbered pages.',
  order: 'asc',
  whereOf: ownRows,
});

builder.queryField('emailVerificationServerTypes', (t) =>
  t.field({
    type: [EmailVerificationServerType],
    description: 'The kinds of verification servers that can be created here.',
    authScopes: reading,
    resolve: (_root, _args, ctx) => [...ctx.hooks.collect('register_email_verifier')],
  }),
);

builder.queryField('usableVerificationServers', (t) =>
  t.field({
    type: [UsableVerificationServer],
    description:
      'Which verification servers the customer may use now, by its plan; the first is used when none is named.',
    authScopes: { scope: 'subscribers:read' },
    resolve: (_root, _args, ctx) => usableVerificationServers(ctx.db, viewerOf(ctx).customerId, USABLE_MAX),
  }),
);
