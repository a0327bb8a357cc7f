/** Changing verification servers. */
import { createVerificationServer } from '../../domain/verification/create-verification-server.ts';
import { deleteVerificationServer } from '../../domain/verification/delete-verification-server.ts';
import {
  planVerificationServersInput,
  setPlanVerificationServers,
} from '../../domain/verification/set-plan-verification-servers.ts';
import { testVerificationServer, type VerifierTest } from '../../domain/verification/test-verification-server.ts';
import { updateVerificationServer } from '../../domain/verification/update-verification-server.ts';
import {
  createVerificationServerInput,
  updateVerificationServerInput,
  type VerificationServer,
} from '../../domain/verification/verification-server.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { ActiveStatus } from '../enums.ts';
import { Plan } from '../plans/plan.ts';
import { EmailVerificationServer } from './verification-server.ts';

const writing = { scope: 'sending-servers:write' } as const;
const PER_MINUTE = 'Addresses a minute, over all runs; null: as many as the verifier allows.';

builder.mutationField('createEmailVerificationServer', (t) =>
  t.prismaFieldWithInput({
    type: EmailVerificationServer,
    description:
      "Tests the settings, then stores the server. Made by an administrator it is the system's. Errors of settings are named `settings.<key>`, a failed test `connection`.",
    authScopes: writing,
    typeOptions: { checks: createVerificationServerInput.shape },
    input: {
      name: t.input.string({ required: true }),
      type: t.input.string({ required: true, description: 'One of `emailVerificationServerTypes`.' }),
      settings: t.input.field({ type: 'JsonObject', required: true }),
      perMinuteMax: t.input.int({ description: PER_MINUTE }),
    },
    resolve: async (query, _root, { input }, ctx) => found(ctx, query, await createVerificationServer(ctx, input)),
  }),
);

builder.mutationField('updateEmailVerificationServer', (t) =>
  t.prismaFieldWithInput({
    type: EmailVerificationServer,
    description:
      'Changes the values that are given. Other settings keep their values; changed settings are tested first.',
    authScopes: writing,
    typeOptions: { checks: updateVerificationServerInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      type: t.input.string({ description: 'Cannot be changed: another value is refused.' }),
      settings: t.input.field({ type: 'JsonObject' }),
      perMinuteMax: t.input.int({ description: PER_MINUTE }),
      status: t.input.field({ type: ActiveStatus }),
    },
    resolve: async (query, _root, { input }, ctx) => found(ctx, query, await updateVerificationServer(ctx, input)),
  }),
);

const DeletedEmailVerificationServer = builder
  .objectRef<{ uid: string }>('DeletedEmailVerificationServer')
  .implement({ authScopes: writing, fields: (t) => ({ uid: t.exposeString('uid') }) });

builder.mutationField('deleteEmailVerificationServer', (t) =>
  t.field({
    type: DeletedEmailVerificationServer,
    description: 'Refused while unfinished verifications use it. Results on people stay.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteVerificationServer(ctx, { uid }),
  }),
);

const EmailVerificationServerTest = builder.objectRef<VerifierTest>('EmailVerificationServerTest').implement({
  description: 'What a test of a verification server has shown.',
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'Of the server.' }),
    isPassed: t.exposeBoolean('isPassed', { description: 'Whether it can be used.' }),
    fault: t.exposeString('fault', { nullable: true, description: 'Why it failed; null when it passed.' }),
  }),
});

builder.mutationField('testEmailVerificationServer', (t) =>
  t.field({
    type: EmailVerificationServerTest,
    description:
      'Tests a stored verification server, without verifying an address. A failed test is an answer, not an error. At most 60 in an hour.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => testVerificationServer(ctx, { uid }),
  }),
);

builder.mutationField('setPlanVerificationServers', (t) =>
  t.prismaFieldWithInput({
    type: Plan,
    description:
      "Chooses which of the system's verification servers a plan's customers may use when its option `all_email_verification_servers` is `no`. None or null: no server.",
    authScopes: { admin: true },
    typeOptions: { checks: planVerificationServersInput.shape },
    input: {
      planUid: t.input.string({ required: true }),
      servers: t.input.stringList({ description: 'Uids of verification servers.' }),
    },
    resolve: async (query, _root, { input: { planUid, servers } }, ctx) => {
      const { id } = await setPlanVerificationServers(ctx, { planUid, servers });
      return ctx.prisma.plan.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

function found(ctx: GraphqlContext, query: object, { customerId, id }: VerificationServer) {
  return ctx.prisma.emailVerificationServer.findUniqueOrThrow({
    ...query,
    where: { customerId_id: { customerId, id } },
  });
}
