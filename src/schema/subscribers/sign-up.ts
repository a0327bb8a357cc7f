/** Public sign-up. */
import { signUpInput } from '../../domain/audience/subscriber.ts';
import { captchaInput, CHALLENGE_MINUTES, newChallenge } from '../../domain/audience/sign-up-captcha.ts';
import { signUp, type SignedUp } from '../../domain/audience/sign-up.ts';
import { builder } from '../builder.ts';

const SignUp = builder.objectRef<SignedUp>('SignUp').implement({
  description: 'The answer is the same whether or not the address is on the list.',
  authScopes: { public: true },
  fields: (t) => ({
    message: t.exposeString('message'),
    ignoredFields: t.stringList({
      description: 'The names in `fieldValues` that are no field of the list.',
      resolve: ({ ignoredFields }) => [...ignoredFields],
    }),
  }),
});

builder.mutationField('signUp', (t) =>
  t.fieldWithInput({
    type: SignUp,
    description: 'Asks to be put on a list that allows it: by a confirmation mail. Needs no token. Once per request.',
    authScopes: { public: true },
    executionsMax: 1,
    typeOptions: { checks: { email: signUpInput.shape.EMAIL, captcha: captchaInput } },
    input: {
      listUid: t.input.string({ required: true }),
      email: t.input.string({ required: true }),
      fieldValues: t.input.field({ type: 'JsonObject', description: 'Values by tag.' }),
      trap: t.input.string({
        description: 'The value of a form field that people do not see. If it is filled in, the sign-up is ignored.',
      }),
      captcha: t.input.string({
        description:
          'The answer of the ALTCHA widget to a challenge of `signUpChallenge`; needed by `signupCaptcha` of the list.',
      }),
    },
    resolve: (_root, { input }, ctx) => signUp(ctx, input),
  }),
);

const SignUpChallenge = builder.objectRef<{ readonly challenge: object }>('SignUpChallenge').implement({
  authScopes: { public: true },
  fields: (t) => ({
    challenge: t.field({
      type: 'JsonObject',
      description: 'As the ALTCHA widget takes it (version 3).',
      resolve: ({ challenge }) => ({ ...challenge }),
    }),
  }),
});

builder.queryField('signUpChallenge', (t) =>
  t.field({
    type: SignUpChallenge,
    description: `A challenge for one sign-up to a list, to be answered within ${CHALLENGE_MINUTES} minutes. Needs no token.`,
    authScopes: { public: true },
    args: { listUid: t.arg.string({ required: true }) },
    resolve: async (_root, { listUid }, ctx) => ({ challenge: await newChallenge(ctx, { listUid }) }),
  }),
);
