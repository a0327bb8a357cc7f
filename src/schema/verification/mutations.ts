/** Verifying the people of a list: start, cancel, resume. */
import { cancelVerification, resumeVerification } from '../../domain/verification/cancel-verification.ts';
import { startVerification } from '../../domain/verification/start-verification.ts';
import { startVerificationInput, type VerificationKey } from '../../domain/verification/verification.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { UndeliverableAction } from './undeliverable-action.ts';
import { Verification } from './verification.ts';

const writing = { scope: 'subscribers:write' } as const;

builder.mutationField('verifyList', (t) =>
  t.prismaFieldWithInput({
    type: Verification,
    description:
      'Starts to verify the people of a list who are not unsubscribed. One verification of a list at a time.',
    authScopes: writing,
    typeOptions: { checks: startVerificationInput.shape },
    input: {
      listUid: t.input.string({ required: true }),
      verificationServer: t.input.string({
        description: 'Uid of one of `usableVerificationServers`; absent: the first of them.',
      }),
      olderThanDays: t.input.int({
        description:
          'Also people whose result is older; 0: everybody again. Absent: only those without a result, or with `unknown`.',
      }),
      undeliverable: t.input.field({
        type: UndeliverableAction,
        description: 'What is done with addresses that it finds undeliverable; `keep` if absent.',
      }),
    },
    resolve: async (query, _root, { input }, ctx) => found(ctx, query, await startVerification(ctx, input)),
  }),
);

builder.mutationField('cancelVerification', (t) =>
  t.prismaField({
    type: Verification,
    description: 'Stops a verification. Results that people have stay.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => found(ctx, query, await cancelVerification(ctx, uid)),
  }),
);

builder.mutationField('resumeVerification', (t) =>
  t.prismaField({
    type: Verification,
    description: 'Continues a paused verification now.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => found(ctx, query, await resumeVerification(ctx, uid)),
  }),
);

function found(ctx: GraphqlContext, query: object, { customerId, id }: VerificationKey) {
  return ctx.prisma.verification.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
}
