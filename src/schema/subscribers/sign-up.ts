/** Public sign-up. */
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
    input: {
      listUid: t.input.string({ required: true }),
      email: t.input.string({ required: true }),
      fieldValues: t.input.field({ type: 'JsonObject', description: 'Values by tag.' }),
      trap: t.input.string({
        description: 'The value of a form field that people do not see. If it is filled in, the sign-up is ignored.',
      }),
    },
    resolve: (_root, { input }, ctx) => signUp(ctx, input),
  }),
);
