/** A campaign's figures as they change, from all processes. */
import { findOwnedCampaign } from '../../domain/campaigns/find-owned-campaign.ts';
import { statisticsFeedOf } from '../../domain/statistics/statistics-feed.ts';
import { builder } from '../builder.ts';
import '../subscription-type.ts';
import { CampaignStatistics } from './campaign-statistics.ts';

builder.subscriptionField('campaignStatistics', (t) =>
  t.field({
    type: CampaignStatistics,
    description:
      'The figures now, then the newest whenever they changed: at most four times a second, never without the last.',
    authScopes: { scope: 'campaigns:read' },
    args: { uid: t.arg.string({ required: true }) },
    subscribe: async (_root, { uid }, ctx) => {
      const { customerId, id } = await findOwnedCampaign(ctx, uid);
      return statisticsFeedOf(ctx, ctx.notifications).watch({ customerId, campaignId: id });
    },
    resolve: (figures) => figures,
  }),
);
