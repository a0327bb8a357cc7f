/** Changing sending domains. */
import { createSendingDomainInput, updateSendingDomainInput } from '../../domain/sending/domains/sending-domain.ts';
import { createSendingDomain } from '../../domain/sending/domains/create-sending-domain.ts';
import { deleteSendingDomain } from '../../domain/sending/domains/delete-sending-domain.ts';
import { rotateDkimKeys } from '../../domain/sending/domains/rotate-dkim-keys.ts';
import { updateSendingDomain } from '../../domain/sending/domains/update-sending-domain.ts';
import { verifySendingDomain } from '../../domain/sending/domains/verify-sending-domain.ts';
import { builder } from '../builder.ts';
import { SendingDomain } from './sending-domain.ts';

const writing = { scope: 'sending-domains:write' } as const;
const DEFAULT = 'Signs for all customers whose sender has no verified domain; for administrators.';
const ED25519 = 'Signs with Ed25519 beside RSA-2048.';
const RETURN_PATH = 'The label in front of the domain to which bounces go; `bounces` unless given.';
const TRACKING = 'The label in front of the domain to which links lead; `links` unless given.';

builder.mutationField('createSendingDomain', (t) =>
  t.prismaFieldWithInput({
    type: SendingDomain,
    description: 'Makes the domain and its keys; publish its `records`, then verify it.',
    authScopes: writing,
    typeOptions: { checks: createSendingDomainInput.shape },
    input: {
      name: t.input.string({ required: true }),
      usesEd25519: t.input.boolean({ description: ED25519 }),
      isDefault: t.input.boolean({ description: DEFAULT }),
      returnPathSubdomain: t.input.string({ description: RETURN_PATH }),
      trackingSubdomain: t.input.string({ description: TRACKING }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await createSendingDomain(ctx, input);
      return ctx.prisma.sendingDomain.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('updateSendingDomain', (t) =>
  t.prismaFieldWithInput({
    type: SendingDomain,
    description: 'Changes the values that are given. A renamed host is used as soon as its record is seen.',
    authScopes: writing,
    typeOptions: { checks: updateSendingDomainInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      usesEd25519: t.input.boolean({ description: ED25519 }),
      isDefault: t.input.boolean({ description: DEFAULT }),
      returnPathSubdomain: t.input.string({ description: RETURN_PATH }),
      trackingSubdomain: t.input.string({ description: TRACKING }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await updateSendingDomain(ctx, input);
      return ctx.prisma.sendingDomain.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('verifySendingDomain', (t) =>
  t.prismaField({
    type: SendingDomain,
    description: 'Looks up every record in the DNS now. At most once in ten seconds.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await verifySendingDomain(ctx, { uid });
      return ctx.prisma.sendingDomain.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('rotateDkimKeys', (t) =>
  t.prismaField({
    type: SendingDomain,
    description: 'Makes new keys. They replace the old ones when their records are seen.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await rotateDkimKeys(ctx, { uid });
      return ctx.prisma.sendingDomain.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const DeletedSendingDomain = builder.objectRef<{ uid: string }>('DeletedSendingDomain').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteSendingDomain', (t) =>
  t.field({
    type: DeletedSendingDomain,
    description: 'Deletes the domain with its keys. Mail from it goes on, without its signature.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteSendingDomain(ctx, { uid }),
  }),
);
