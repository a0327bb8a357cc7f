/** Deliveries: the result for each recipient of a campaign, from its ledger, by key. */
import { ledgerOfCampaign, type deliveryStates } from '../../domain/delivery/ledger/delivery.ts';
import {
  countDeliveries,
  deliveryPage,
  type DeliveryRow,
} from '../../domain/delivery/ledger/delivery-page-read-model.ts';
import type { LedgerBalance } from '../../domain/delivery/ledger/ledger-read-model.ts';
import { deliveryReasonText } from '../../domain/sending/delivery-reason.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { forwardConnection } from '../key-connection.ts';
import { COUNTED_MAX } from '../limits.ts';
import { Campaign } from './campaign.ts';

export const DeliveryState = builder.enumType('DeliveryState', {
  description: '`queued`, `leased` and `sending` are open, the other states are closed.',
  values: {
    queued: { description: 'Waits for its turn.' },
    leased: { description: 'A worker holds it.' },
    sending: { description: 'Was handed over; there is no answer yet.' },
    sent: { description: 'A receiving server took it.' },
    failed: { description: 'It was refused, or could not be composed.' },
    skipped: {
      description:
        'The person had left the list or is deleted, or a plugin has skipped the message: `reason` says which.',
    },
    suppressed: { description: 'The address must get no mail.' },
    unknown: { description: 'Was handed over and never answered.' },
  } satisfies Record<(typeof deliveryStates)[number], object>,
});

const Delivery = builder.objectRef<DeliveryRow>('Delivery').implement({
  description: 'One recipient of one campaign.',
  authScopes: { scope: 'campaigns:read' },
  fields: (t) => ({
    subscriberUid: t.string({ resolve: ({ recipientId }) => subscriberUid(recipientId) }),
    email: t.exposeString('email'),
    state: t.expose('state', { type: DeliveryState }),
    attempts: t.exposeInt('attempts', { description: 'Tries that reached a server.' }),
    ambiguousCount: t.exposeInt('ambiguousCount', { description: 'Tries with an unknown outcome.' }),
    notBefore: t.expose('notBefore', {
      type: 'DateTime',
      nullable: true,
      description: 'The next try is not before this time.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    reason: t.string({
      nullable: true,
      resolve: ({ reason }) => reason && deliveryReasonText(reason),
      description:
        'Why it is in this state: after a refusal its class (permanent, transient, block, rate limit, policy) and what was the matter, as in "permanent: mailbox unknown".',
    }),
    reply: t.exposeString('reply', {
      nullable: true,
      description:
        'The last reply of the receiving server; of a message that a plugin has skipped, its name and its words.',
    }),
    runtimeMessageId: t.exposeString('runtimeMessageId', { nullable: true }),
  }),
});

export const LedgerBalanceType = builder.objectRef<LedgerBalance>('LedgerBalance').implement({
  description: "The ledger's rows by state, counted at one instant: audience is the sum of the others.",
  authScopes: { scope: 'campaigns:read' },
  fields: (t) => ({
    audience: t.exposeInt('audience'),
    queued: t.exposeInt('queued'),
    leased: t.exposeInt('leased'),
    sending: t.exposeInt('sending'),
    sent: t.exposeInt('sent'),
    failed: t.exposeInt('failed'),
    skipped: t.exposeInt('skipped'),
    suppressed: t.exposeInt('suppressed'),
    unknown: t.exposeInt('unknown'),
  }),
});

builder.prismaObjectField(Campaign, 'deliveries', (t) =>
  t.connection(
    {
      type: Delivery,
      description: `Its recipients in the order of their subscription; empty until it was started, and after its month was dropped (KEEP_LEDGER_MONTHS). Forward only. In one of the open states \`totalCount\` counts up to ${COUNTED_MAX}.`,
      args: { state: t.arg({ type: DeliveryState, description: 'Only those in this state.' }) },
      resolve: ({ id, customerId, snapshotOn }, args, ctx) => {
        const day = snapshotOn?.toISOString().slice(0, 10);
        const key = day === undefined ? null : ledgerOfCampaign({ customerId, campaignId: id, snapshotOn: day });
        const state = args.state ?? null;
        return forwardConnection(args, {
          idOf: ({ recipientId }: DeliveryRow) => recipientId,
          find: async ({ after = 0n, limit }) =>
            key === null ? [] : deliveryPage(ctx.db, { key, afterId: after, limit, state }),
          count: () => (key === null ? 0 : countDeliveries(ctx.db, { key, state, max: COUNTED_MAX })),
        });
      },
    },
    { name: 'DeliveryConnection' },
    { name: 'DeliveryEdge' },
  ),
);
