/** Senders' addresses that are verified by a mail with a link. */
import { viewerOf } from '../../domain/context.ts';
import { deleteFromAddress } from '../../domain/sending/addresses/delete-from-address.ts';
import { requestFromAddress } from '../../domain/sending/addresses/request-from-address.ts';
import { builder } from '../builder.ts';

const reading = { scope: 'sending-domains:read' } as const;
const writing = { scope: 'sending-domains:write' } as const;

const FromAddress = builder.prismaObject('FromAddress', {
  authScopes: reading,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    email: t.exposeString('email'),
    mailedAt: t.expose('mailedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the last mail with a link went out; the link works for seven days.',
    }),
    verifiedAt: t.expose('verifiedAt', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

builder.queryField('fromAddresses', (t) =>
  t.prismaConnection(
    {
      type: FromAddress,
      cursor: 'customerId_id',
      description: 'Sender addresses, verified or asked for, the oldest first.',
      authScopes: reading,
      resolve: (query, _root, _args, ctx) =>
        ctx.prisma.fromAddress.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'asc' },
        }),
    },
    { name: 'FromAddressConnection' },
    { name: 'FromAddressEdge' },
  ),
);

builder.mutationField('verifyFromAddress', (t) =>
  t.prismaField({
    type: FromAddress,
    description: 'Sends a link to the address; whoever follows it and agrees has verified it. Once in five minutes.',
    authScopes: writing,
    errors: {},
    args: { email: t.arg.string({ required: true }) },
    resolve: async (query, _root, { email }, ctx) => {
      const { customerId, id } = await requestFromAddress(ctx, { email });
      return ctx.prisma.fromAddress.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const DeletedFromAddress = builder.objectRef<{ uid: string }>('DeletedFromAddress').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteFromAddress', (t) =>
  t.field({
    type: DeletedFromAddress,
    description: 'Forgets the address.',
    authScopes: writing,
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteFromAddress(ctx, { uid }),
  }),
);
