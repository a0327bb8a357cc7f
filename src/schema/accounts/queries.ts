/** Reading accounts. */
import { currentTokensOf } from '../../domain/accounts/authenticate-token.ts';
import { viewerOf } from '../../domain/context.ts';
import { ForbiddenError } from '../../lib/errors.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { ApiToken } from './api-token.ts';
import { User } from './user.ts';

builder.queryField('me', (t) =>
  t.prismaField({
    type: User,
    description: 'The user of the token.',
    authScopes: { authenticated: true },
    resolve: (query, _root, _args, ctx) => {
      const { customerId, userId, plugin } = viewerOf(ctx);
      if (plugin !== undefined) throw new ForbiddenError('FORBIDDEN', 'A plugin is no user.');
      return ctx.prisma.user.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id: userId } } });
    },
  }),
);

const tokens = nounIndex('ApiToken', ApiToken, {
  access: { scope: 'account:read' },
  count: (ctx, where: CurrentTokens) => ctx.prisma.apiToken.count({ where }),
  find: (ctx, query) => ctx.prisma.apiToken.findMany(query),
});
const CURRENT = "The user's tokens that still work, the newest first.";
tokens.connection('apiTokens', { description: CURRENT, order: 'desc', whereOf: currentTokens });

async function currentTokens(ctx: GraphqlContext) {
  return { ...ownRows(ctx), id: { in: await currentTokensOf(ctx) } };
}

type CurrentTokens = Awaited<ReturnType<typeof currentTokens>>;
