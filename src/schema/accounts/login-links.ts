/** Links that log somebody in once. */
import { RECENT_LOGIN } from '../../domain/accounts/require-recent-login.ts';
import { nextInput } from '../../domain/accounts/own-path.ts';
import { emailAddress } from '../../lib/text.ts';
import { createLoginLink, type LoginLink } from '../../domain/accounts/login-link.ts';
import { builder } from '../builder.ts';

const LoginLinkType = builder.objectRef<LoginLink>('LoginLink').implement({
  description: 'A link that works once, for ten minutes. It is shown only now and not stored.',
  authScopes: { scope: 'account:write' },
  fields: (t) => ({
    token: t.exposeString('token'),
    url: t.exposeString('url'),
    expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
  }),
});

builder.mutationField('createLoginLink', (t) =>
  t.fieldWithInput({
    type: LoginLinkType,
    description: `A link that logs the caller in, with what this token may do; an administrator may name a customer instead, whose first user is then logged in. ${RECENT_LOGIN}`,
    authScopes: { scope: 'account:write' },
    typeOptions: { checks: { next: nextInput, email: emailAddress() } },
    input: {
      customerUid: t.input.string({ description: 'For administrators.' }),
      next: t.input.string({ description: 'Where the link leads: a path of this installation such as `/inbox`.' }),
      email: t.input.string({ description: "For administrators: the address of one of the customer's users." }),
    },
    resolve: (_root, { input }, ctx) => createLoginLink(ctx, input),
  }),
);
