/** Reading campaigns. */
import { findOwnedCampaign } from '../../domain/campaigns/find-owned-campaign.ts';
import { ledgerOfCampaign } from '../../domain/delivery/ledger/delivery.ts';
import { countLedger } from '../../domain/delivery/ledger/ledger-read-model.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { Campaign } from './campaign.ts';
import { LedgerBalanceType } from './delivery.ts';

const reading = { scope: 'campaigns:read' } as const;

builder.queryField('campaign', (t) =>
  t.prismaField({
    type: Campaign,
    description: 'One campaign.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedCampaign(ctx, uid);
      return ctx.prisma.campaign.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const index = nounIndex('Campaign', Campaign, {
  access: reading,
  count: (ctx, where) => ctx.prisma.campaign.count({ where }),
  find: (ctx, query) => ctx.prisma.campaign.findMany(query),
});
index.connection('campaigns', { description: 'All campaigns, the newest first.', order: 'desc', whereOf: ownRows });
const BY_PAGES =
  'All campaigns by numbered pages, the oldest first: a new one does not move the others to another page.';
index.pages('campaignsPage', { description: BY_PAGES, order: 'asc', whereOf: ownRows });

builder.queryField('campaignLedger', (t) =>
  t.field({
    type: LedgerBalanceType,
    nullable: true,
    description:
      'The balance of one ledger, counted row by row: exact, and as slow as the campaign is large. Null before the start.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (_root, { uid }, ctx) => {
      const { customerId, id, snapshotOn } = await findOwnedCampaign(ctx, uid);
      return snapshotOn === null
        ? null
        : countLedger(ctx.db, ledgerOfCampaign({ customerId, campaignId: id, snapshotOn }));
    },
  }),
);
