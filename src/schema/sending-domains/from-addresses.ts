/** Senders' addresses that are verified by a mail with a link. */
import { emailAddress } from '../../lib/text.ts';
import { deleteFromAddress } from '../../domain/sending/addresses/delete-from-address.ts';
import { requestFromAddress } from '../../domain/sending/addresses/request-from-address.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';

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

const index = nounIndex('FromAddress', FromAddress, {
  access: reading,
  count: (ctx, where) => ctx.prisma.fromAddress.count({ where }),
  find: (ctx, query) => ctx.prisma.fromAddress.findMany(query),
});
const ALL = 'Sender addresses, verified or asked for, the oldest first.';
index.connection('fromAddresses', { description: ALL, order: 'asc', whereOf: ownRows });

builder.mutationField('verifyFromAddress', (t) =>
  t.prismaField({
    type: FromAddress,
    description:
      'Sends a link to the address. The address is verified when somebody follows the link and confirms. At most once in five minutes.',
    authScopes: writing,
    args: { email: t.arg.string({ required: true, check: emailAddress() }) },
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
    description: 'Deletes the address.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteFromAddress(ctx, { uid }),
  }),
);
