/** Reading accounts. */
import { currentTokensOf } from '../../domain/accounts/authenticate-token.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { ApiToken } from './api-token.ts';
import { User } from './user.ts';

builder.queryField('me', (t) =>
  t.prismaField({
    type: User,
    description: 'The user of the token.',
    authScopes: { authenticated: true },
    resolve: (query, _root, _args, ctx) => {
      const { customerId, userId } = viewerOf(ctx);
      return ctx.prisma.user.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id: userId } } });
    },
  }),
);

builder.queryField('apiTokens', (t) =>
  t.prismaConnection(
    {
      type: ApiToken,
      cursor: 'customerId_id',
      description: "The user's tokens that still work, the newest first.",
      authScopes: { scope: 'account:read' },
      resolve: async (query, _root, _args, ctx) => {
        const { customerId } = viewerOf(ctx);
        const id = { in: await currentTokensOf(ctx) };
        return ctx.prisma.apiToken.findMany({ ...query, where: { customerId, id }, orderBy: { id: 'desc' } });
      },
    },
    { name: 'ApiTokenConnection' },
    { name: 'ApiTokenEdge' },
  ),
);
