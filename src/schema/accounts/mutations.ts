/** Changing accounts. */
import { createApiToken } from '../../domain/accounts/create-api-token.ts';
import { logIn, type LoggedIn } from '../../domain/accounts/log-in.ts';
import { revokeApiToken, rotateApiToken } from '../../domain/accounts/revoke-api-token.ts';
import { builder } from '../builder.ts';
import { CreatedApiToken, RestDialect } from './api-token.ts';
import { OWN_USER, User } from './user.ts';

const LoggedInType = builder.objectRef<LoggedIn>('LoggedIn').implement({
  description: 'A fresh token, shown this once. By default it ends after 30 days without use, and 90 days in all.',
  authScopes: { public: true },
  fields: (t) => ({
    token: t.exposeString('token'),
    deviceToken: t.exposeString('deviceToken', {
      description: 'For this device to keep, and to show at the next login: strangers can then not lock it out.',
    }),
    user: t.prismaField({
      type: User,
      // The caller has proved the password and may see this user, although the request has no token.
      grantScopes: [OWN_USER],
      resolve: (query, { customerId, userId }, _args, ctx) =>
        ctx.prisma.user.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id: userId } } }),
    }),
  }),
});

builder.mutationField('logIn', (t) =>
  t.fieldWithInput({
    type: LoggedInType,
    description:
      'Exchanges an email and a password for a token. Once per request; ten failures in 15 minutes stop it. With ' +
      'two-factor login a code is needed: without it the error has the code TWO_FACTOR_CODE_REQUIRED.',
    authScopes: { public: true },
    executionsMax: 1,
    errors: {},
    input: {
      email: t.input.string({ required: true }),
      password: t.input.string({ required: true }),
      code: t.input.string({ description: 'Of the authenticator app, or a recovery code.' }),
      deviceToken: t.input.string({ description: 'What an earlier login gave to this device.' }),
    },
    resolve: (_root, { input }, ctx) => logIn(ctx, input),
  }),
);

builder.mutationField('createApiToken', (t) =>
  t.fieldWithInput({
    type: CreatedApiToken,
    description: 'Makes a further token of the user, with the scopes given or those of the token that asks.',
    authScopes: { scope: 'account:write' },
    errors: {},
    input: {
      name: t.input.string({ required: true }),
      scopes: t.input.stringList({ description: '`*`, or scopes such as `lists:read`.' }),
      restDialect: t.input.field({ type: RestDialect }),
      expiresAt: t.input.field({ type: 'DateTime' }),
    },
    resolve: (_root, { input }, ctx) => createApiToken(ctx, input),
  }),
);

builder.mutationField('rotateApiToken', (t) =>
  t.field({
    type: CreatedApiToken,
    description: 'Gives a token of the user a new text; the old one ends at once.',
    authScopes: { scope: 'account:write' },
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => rotateApiToken(ctx, { uid }),
  }),
);

const RevokedApiToken = builder.objectRef<{ uid: string }>('RevokedApiToken').implement({
  authScopes: { scope: 'account:write' },
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('revokeApiToken', (t) =>
  t.field({
    type: RevokedApiToken,
    description: 'Ends a token of the user at once, what is open under it included.',
    authScopes: { scope: 'account:write' },
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => revokeApiToken(ctx, { uid }),
  }),
);
