/** Reading sending domains, and what receivers see of a sender: the caller's own. */
import { viewerOf } from '../../domain/context.ts';
import { checkSender, type SenderCheck as Check } from '../../domain/sending/check-sender.ts';
import { ownSendingDomain } from '../../domain/sending/domains/own-sending-domain.ts';
import { builder } from '../builder.ts';
import { countedPage, pageArgs } from '../page.ts';
import { SendingDomain, SendingDomainPage } from './sending-domain.ts';

const reading = { scope: 'sending-domains:read' } as const;

builder.queryField('sendingDomain', (t) =>
  t.prismaField({
    type: SendingDomain,
    description: 'One sending domain.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await ownSendingDomain(ctx, uid);
      return ctx.prisma.sendingDomain.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.queryField('sendingDomains', (t) =>
  t.prismaConnection(
    {
      type: SendingDomain,
      cursor: 'customerId_id',
      description: 'The sending domains, the oldest first.',
      authScopes: reading,
      resolve: (query, _root, _args, ctx) =>
        ctx.prisma.sendingDomain.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'asc' },
        }),
    },
    { name: 'SendingDomainConnection' },
    { name: 'SendingDomainEdge' },
  ),
);

builder.queryField('sendingDomainsPage', (t) =>
  t.field({
    type: SendingDomainPage,
    description: 'The same by numbered pages.',
    authScopes: reading,
    args: pageArgs(),
    resolve: (_root, args, ctx) => {
      const where = { customerId: viewerOf(ctx).customerId };
      return countedPage(args, {
        find: (window) => ctx.prisma.sendingDomain.findMany({ where, orderBy: { id: 'asc' }, ...window }),
        count: () => ctx.prisma.sendingDomain.count({ where }),
      });
    },
  }),
);

const SenderCheck = builder.objectRef<Check>('SenderCheck').implement({
  description: 'What receivers see of mail from an address.',
  authScopes: reading,
  fields: (t) => ({
    email: t.exposeString('email'),
    signingDomain: t.exposeString('signingDomain', { nullable: true, description: 'Null: nobody signs.' }),
    isSignatureAligned: t.exposeBoolean('isSignatureAligned', { description: 'DMARC counts the signature.' }),
    returnPathDomain: t.exposeString('returnPathDomain'),
    isReturnPathAligned: t.exposeBoolean('isReturnPathAligned', { description: 'DMARC counts SPF.' }),
    trackingUrl: t.exposeString('trackingUrl', { nullable: true }),
    problems: t.stringList({ description: 'One sentence each.', resolve: ({ problems }) => [...problems] }),
  }),
});

builder.queryField('senderCheck', (t) =>
  t.field({
    type: SenderCheck,
    description: 'Who signs mail from this address, where its bounces go, and whether DMARC counts either.',
    authScopes: reading,
    errors: {},
    args: { email: t.arg.string({ required: true }) },
    resolve: (_root, { email }, ctx) => checkSender(ctx, { email }),
  }),
);
