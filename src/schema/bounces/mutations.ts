/** Changing bounce handlers and the policy. */
import { createBounceHandlerInput, updateBounceHandlerInput } from '../../domain/bounces/bounce-handler.ts';
import { createBounceHandler } from '../../domain/bounces/create-bounce-handler.ts';
import { deleteBounceHandler } from '../../domain/bounces/delete-bounce-handler.ts';
import { testBounceHandler, type MailboxTest } from '../../domain/bounces/try-mailbox.ts';
import { updateBounceHandler } from '../../domain/bounces/update-bounce-handler.ts';
import { bouncePolicyInput, updateBouncePolicy } from '../../domain/tracking/bounce-policy.ts';
import { builder } from '../builder.ts';
import { ActiveStatus, MailboxEncryption, MailboxProtocol } from '../enums.ts';
import { BounceHandler } from './bounce-handler.ts';
import { BouncePolicy } from './bounce-policy.ts';

const writing = { scope: 'sending-servers:write' } as const;
/** Each opens a connection to a mailbox, with a password that may be a guess. */
const ONCE = { executionsMax: 1 } as const;
const PORT = 'Without one the usual port of protocol and encryption.';

builder.mutationField('createBounceHandler', (t) =>
  t.prismaFieldWithInput({
    type: BounceHandler,
    description:
      'Opens the mailbox, then stores how to. Made by an administrator it takes reports about everybody’s messages. A failed connection is an error of `connection`.',
    authScopes: writing,
    ...ONCE,
    typeOptions: { checks: createBounceHandlerInput.shape },
    input: {
      name: t.input.string({ required: true }),
      protocol: t.input.field({ type: MailboxProtocol, description: '`imap` by default.' }),
      host: t.input.string({ required: true }),
      port: t.input.int({ description: PORT }),
      encryption: t.input.field({ type: MailboxEncryption, description: '`tls` by default.' }),
      username: t.input.string({ required: true }),
      password: t.input.string({ required: true }),
      folder: t.input.string({ description: 'The folder of an IMAP mailbox; `INBOX` by default.' }),
      keepsReports: t.input.boolean({
        description: 'Reports that were processed stay in the mailbox; by default they are deleted.',
      }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await createBounceHandler(ctx, input);
      return ctx.prisma.bounceHandler.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('updateBounceHandler', (t) =>
  t.prismaFieldWithInput({
    type: BounceHandler,
    description:
      'Changes what is given; a changed address is tried first. The password has to be given again when host, port, protocol or encryption change.',
    authScopes: writing,
    ...ONCE,
    typeOptions: { checks: updateBounceHandlerInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      protocol: t.input.field({ type: MailboxProtocol }),
      host: t.input.string(),
      port: t.input.int({ description: PORT }),
      encryption: t.input.field({ type: MailboxEncryption }),
      username: t.input.string(),
      password: t.input.string(),
      folder: t.input.string(),
      keepsReports: t.input.boolean(),
      status: t.input.field({ type: ActiveStatus }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await updateBounceHandler(ctx, input);
      return ctx.prisma.bounceHandler.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const DeletedBounceHandler = builder.objectRef<{ uid: string }>('DeletedBounceHandler').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteBounceHandler', (t) =>
  t.field({
    type: DeletedBounceHandler,
    description: 'The mailbox is left as it is.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteBounceHandler(ctx, { uid }),
  }),
);

const TestedBounceHandler = builder.objectRef<MailboxTest>('TestedBounceHandler').implement({
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    messageCount: t.exposeInt('messageCount', { description: 'Number of messages in the mailbox.' }),
  }),
});

builder.mutationField('testBounceHandler', (t) =>
  t.field({
    type: TestedBounceHandler,
    description: 'Opens the mailbox with what is stored, and changes nothing. A failure is an error of `connection`.',
    authScopes: writing,
    ...ONCE,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => testBounceHandler(ctx, { uid }),
  }),
);

builder.mutationField('updateBouncePolicy', (t) =>
  t.fieldWithInput({
    type: BouncePolicy,
    description:
      'Changes the values that are given, for the caller’s customer; null goes back to the installation’s value.',
    authScopes: writing,
    typeOptions: { checks: bouncePolicyInput.shape },
    input: { softBounceLimit: t.input.int(), softBounceDays: t.input.int() },
    resolve: (_root, { input }, ctx) => updateBouncePolicy(ctx, input),
  }),
);
