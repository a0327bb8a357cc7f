/** Reading sending domains, and what receivers see about a sender: the caller's own. */
import { emailAddress } from '../../lib/text.ts';
import { checkSender, type SenderCheck as Check } from '../../domain/sending/check-sender.ts';
import { findOwnedSendingDomain } from '../../domain/sending/domains/find-owned-sending-domain.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { SendingDomain } from './sending-domain.ts';

const reading = { scope: 'sending-domains:read' } as const;

builder.queryField('sendingDomain', (t) =>
  t.prismaField({
    type: SendingDomain,
    description: 'One sending domain.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedSendingDomain(ctx, uid);
      return ctx.prisma.sendingDomain.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const index = nounIndex('SendingDomain', SendingDomain, {
  access: reading,
  count: (ctx, where) => ctx.prisma.sendingDomain.count({ where }),
  find: (ctx, query) => ctx.prisma.sendingDomain.findMany(query),
});
index.connection('sendingDomains', {
  description: 'The sending domains, the oldest first.',
  order: 'asc',
  whereOf: ownRows,
});
index.pages('sendingDomainsPage', { description: 'The same by numbered pages.', order: 'asc', whereOf: ownRows });

const SenderCheck = builder.objectRef<Check>('SenderCheck').implement({
  description: 'How receiving servers check mail from an address.',
  authScopes: reading,
  fields: (t) => ({
    email: t.exposeString('email'),
    signingDomain: t.exposeString('signingDomain', {
      nullable: true,
      description: 'The domain of the DKIM signature; null: no signature.',
    }),
    isSignatureAligned: t.exposeBoolean('isSignatureAligned', {
      description: 'Whether the signature is aligned, so that it counts for DMARC.',
    }),
    returnPathDomain: t.exposeString('returnPathDomain'),
    isReturnPathAligned: t.exposeBoolean('isReturnPathAligned', {
      description: 'Whether the return-path host is aligned, so that SPF counts for DMARC.',
    }),
    trackingUrl: t.exposeString('trackingUrl', { nullable: true }),
    problems: t.stringList({ description: 'One sentence each.', resolve: ({ problems }) => [...problems] }),
  }),
});

builder.queryField('senderCheck', (t) =>
  t.field({
    type: SenderCheck,
    description: 'Who signs mail from this address, where its bounces go, and whether DMARC counts either.',
    authScopes: reading,
    args: { email: t.arg.string({ required: true, check: emailAddress() }) },
    resolve: (_root, { email }, ctx) => checkSender(ctx, { email }),
  }),
);
