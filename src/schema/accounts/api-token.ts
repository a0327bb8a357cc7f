/** API tokens: all their data except the token itself, which is shown once. */
import type { IssuedToken } from '../../domain/accounts/api-token-store.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { ApiTokenKind } from '../enums.ts';

export const RestDialect = builder.enumType('RestDialect', {
  description: 'The form of the REST answers for requests with this token.',
  values: {
    STANDARD: { value: 'standard', description: 'The form that the reference describes.' },
    CLASSIC: { value: 'classic', description: 'The form that older clients of this API expect.' },
  } as const,
});

export const ApiToken = builder.prismaObject('ApiToken', {
  authScopes: { scope: 'account:read' },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    kind: t.expose('kind', { type: ApiTokenKind }),
    name: t.exposeString('name'),
    scopes: t.exposeStringList('scopes', { description: '`*`, or what it may do.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true }),
    lastUsedIp: t.exposeString('lastUsedIp', { nullable: true }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true }),
  }),
});

export const CreatedApiToken = builder.objectRef<IssuedToken>('CreatedApiToken').implement({
  description: 'A token in clear text. It is shown only now and not stored.',
  authScopes: { scope: 'account:write' },
  fields: (t) => ({
    token: t.exposeString('token'),
    apiToken: t.prismaField({
      type: ApiToken,
      resolve: (query, { uid }, _args, ctx) =>
        ctx.prisma.apiToken.findUniqueOrThrow({
          ...query,
          where: { customerId_uid: { customerId: viewerOf(ctx).customerId, uid } },
        }),
    }),
  }),
});
