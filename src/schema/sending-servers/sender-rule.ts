/** Where senders must be verified before a type of servers sends for them. */
import type { SenderRule } from '../../plugin-api/index.ts';
import { builder } from '../builder.ts';
import { SendingServerType } from './sending-server.ts';

const SenderPlace = builder.enumType('SendingServerSenderPlace', {
  description: 'Where a sender must be verified.',
  values: {
    HERE: { value: 'here', description: 'By Mailwright, where the installation asks for it.' },
    VENDOR: { value: 'vendor', description: "In the vendor's account." },
    NOWHERE: { value: 'none', description: 'Nowhere: the vendor verifies none of this kind.' },
  } as const satisfies Record<string, { value: SenderRule['addresses']; description: string }>,
});

builder.objectFields(SendingServerType, (t) => ({
  domainsAreVerified: t.field({
    type: SenderPlace,
    description: 'Where the domain of a sender must be verified.',
    resolve: ({ senders }) => senders?.domains ?? 'here',
  }),
  addressesAreVerified: t.field({
    type: SenderPlace,
    description: 'Where a single address must be verified, if its domain is not.',
    resolve: ({ senders }) => senders?.addresses ?? 'here',
  }),
  sharesSenders: t.boolean({
    description: "Whether a sender that another of the customer's servers of this type has verified counts, too.",
    resolve: ({ senders }) => senders?.areShared ?? true,
  }),
}));
