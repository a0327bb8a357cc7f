/** Signing in from a page: a session in a cookie that no script can read, and no token. */
import { type LoggedIn, logInInput, signIn } from '../../domain/accounts/log-in.ts';
import { nextInput, parseNext } from '../../domain/accounts/own-path.ts';
import { sessionCookie } from '../../domain/accounts/session-cookie.ts';
import { WrongStateError } from '../../lib/errors.ts';
import { builder } from '../builder.ts';
import { credentialsInput, provedUserFields } from './credentials.ts';

const SignedIn = builder.objectRef<LoggedIn & { readonly next: string }>('SignedIn').implement({
  description: 'The session is in the cookie of the answer. It ends as a login token does.',
  authScopes: { public: true },
  fields: (t) => ({
    next: t.exposeString('next', { description: 'The path to go to: the given one, or `/`.' }),
  }),
});
provedUserFields(SignedIn);

builder.mutationField('signIn', (t) =>
  t.fieldWithInput({
    type: SignedIn,
    description:
      'Signs a page in: exchanges an email, a password and a code for a session, whose cookie comes with the answer. ' +
      'Works over HTTP, not on a websocket. Limits and errors are those of `logIn`.',
    authScopes: { public: true },
    executionsMax: 1,
    typeOptions: { checks: { ...logInInput.shape, next: nextInput } },
    input: {
      ...credentialsInput(t.input),
      next: t.input.string({ description: 'Where to go then: a path of this installation such as `/inbox`.' }),
    },
    resolve: async (_root, { input: { next: given, ...input } }, ctx) => {
      const { setCookie, installation } = ctx;
      if (!setCookie) throw new WrongStateError('NO_COOKIES_HERE', 'Sign in with an HTTP request of its own.');
      const next = parseNext(given, installation.baseUrl);
      const session = await signIn(ctx, input);
      setCookie(sessionCookie(installation.baseUrl, session.token));
      return { ...session, next };
    },
  }),
);
