/** Changing accounts. */
import { RECENT_LOGIN } from '../../domain/accounts/require-recent-login.ts';
import { createApiToken, createApiTokenInput } from '../../domain/accounts/create-api-token.ts';
import { type LoggedIn, logIn, logInInput } from '../../domain/accounts/log-in.ts';
import { revokeApiToken, rotateApiToken } from '../../domain/accounts/revoke-api-token.ts';
import { builder } from '../builder.ts';
import { CreatedApiToken, RestDialect } from './api-token.ts';
import { credentialsInput, provedUserFields } from './credentials.ts';

const LoggedInType = builder.objectRef<LoggedIn>('LoggedIn').implement({
  description:
    'A new token, shown only now. By default it expires after 30 days without use, and after 90 days in any case.',
  authScopes: { public: true },
  fields: (t) => ({ token: t.exposeString('token') }),
});
provedUserFields(LoggedInType);

builder.mutationField('logIn', (t) =>
  t.fieldWithInput({
    type: LoggedInType,
    description:
      'Exchanges an email and a password for a token. Once per request; ten failures in 15 minutes stop it. With ' +
      'two-factor login a code is needed: without it the error has the code TWO_FACTOR_CODE_REQUIRED.',
    authScopes: { public: true },
    executionsMax: 1,
    typeOptions: { checks: logInInput.shape },
    input: credentialsInput(t.input),
    resolve: (_root, { input }, ctx) => logIn(ctx, input),
  }),
);

builder.mutationField('createApiToken', (t) =>
  t.fieldWithInput({
    type: CreatedApiToken,
    description: `Makes a further token of the user, with the scopes given or those of the token that asks. ${RECENT_LOGIN}`,
    authScopes: { scope: 'account:write' },
    typeOptions: { checks: createApiTokenInput.shape },
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
    description: `Replaces the text of a token of the user; the old text stops working at once. ${RECENT_LOGIN}`,
    authScopes: { scope: 'account:write' },
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
    description: 'Revokes a token of the user at once; open connections that use it are closed.',
    authScopes: { scope: 'account:write' },
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => revokeApiToken(ctx, { uid }),
  }),
);
