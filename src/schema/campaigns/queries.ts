/** Reading campaigns. */
import { ownCampaign } from '../../domain/campaigns/own-campaign.ts';
import { viewerOf } from '../../domain/context.ts';
import { countLedger } from '../../domain/delivery/ledger-read-model.ts';
import { builder } from '../builder.ts';
import { pageArgs, pageWindow, type PageWindow } from '../page.ts';
import { Campaign } from './campaign.ts';
import { LedgerBalanceType } from './delivery.ts';

const reading = { scope: 'campaigns:read' } as const;

builder.queryField('campaign', (t) =>
  t.prismaField({
    type: Campaign,
    description: 'One campaign.',
    authScopes: reading,
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => {
      const { customerId, id } = await ownCampaign(ctx, uid);
      return ctx.prisma.campaign.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.queryField('campaigns', (t) =>
  t.prismaConnection(
    {
      type: Campaign,
      cursor: 'customerId_id',
      description: 'All campaigns, the newest first.',
      authScopes: reading,
      resolve: (query, _root, _args, ctx) =>
        ctx.prisma.campaign.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'desc' },
        }),
    },
    { name: 'CampaignConnection' },
    { name: 'CampaignEdge' },
  ),
);

const CampaignPage = builder.objectRef<PageWindow>('CampaignPage').implement({
  authScopes: reading,
  fields: (t) => ({
    nodes: t.prismaField({
      type: [Campaign],
      resolve: (query, { offset, perPage }, _args, ctx) =>
        ctx.prisma.campaign.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'asc' },
          skip: offset,
          take: perPage,
        }),
    }),
    total: t.int({
      resolve: (_page, _args, ctx) => ctx.prisma.campaign.count({ where: { customerId: viewerOf(ctx).customerId } }),
    }),
    page: t.exposeInt('page'),
    perPage: t.exposeInt('perPage'),
  }),
});

builder.queryField('campaignsPage', (t) =>
  t.field({
    type: CampaignPage,
    description:
      'All campaigns by numbered pages, the oldest first: a new one does not move the others to another page.',
    authScopes: reading,
    args: pageArgs(),
    resolve: (_root, args) => pageWindow(args),
  }),
);

builder.queryField('campaignLedger', (t) =>
  t.field({
    type: LedgerBalanceType,
    nullable: true,
    description:
      'The balance of one ledger, counted row by row: exact, and as slow as the campaign is large. Null before the start.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (_root, { uid }, ctx) => {
      const { customerId, id, plannedOn } = await ownCampaign(ctx, uid);
      return plannedOn === null ? null : countLedger(ctx.db, { customerId, campaignId: id, plannedOn });
    },
  }),
);
