/** All campaigns of a customer as they change. */
import {
  CHANGES_MAX,
  watchCampaigns,
  type CampaignChanges,
  type ChangedCampaign,
} from '../../domain/campaigns/campaign-changes.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { CampaignStatus, CampaignType } from '../enums.ts';
import { CampaignStatistics } from '../statistics/campaign-statistics.ts';
import '../subscription-type.ts';
import { Campaign } from './campaign.ts';

const reading = { scope: 'campaigns:read' } as const;

const ChangedCampaignType = builder.objectRef<ChangedCampaign>('ChangedCampaign').implement({
  description: 'The present state of a campaign that changed. All but `campaign` is read once for all who watch.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    type: t.expose('type', { type: CampaignType }),
    status: t.expose('status', { type: CampaignStatus }),
    waitsUntil: t.expose('waitUntil', { type: 'DateTime', nullable: true, description: 'As `Campaign.waitsUntil`.' }),
    deliveryAt: t.expose('deliveryAt', { type: 'DateTime', nullable: true }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    statistics: t.expose('statistics', { type: CampaignStatistics }),
    campaign: t.prismaField({
      type: Campaign,
      nullable: true,
      description:
        'The whole campaign, for caches that know it by its type and uid; null when it was deleted meanwhile. It is read for each who watches.',
      resolve: (query, { id }, _args, ctx) => {
        const { customerId } = viewerOf(ctx);
        return ctx.prisma.campaign.findUnique({ ...query, where: { customerId_id: { customerId, id } } });
      },
    }),
  }),
});

const CampaignChangesType = builder.objectRef<CampaignChanges>('CampaignChanges').implement({
  description: 'What has changed among the campaigns of a customer since the event before.',
  authScopes: reading,
  fields: (t) => ({
    isGap: t.exposeBoolean('isGap', {
      description:
        'True in the first event, and when changes may be missing: read the list again that you show, after this event.',
    }),
    changed: t.field({
      type: [ChangedCampaignType],
      description: `New and changed campaigns; in the first event those that are scheduled, under way or paused. ${CHANGES_MAX} at most.`,
      extensions: { listLength: CHANGES_MAX },
      resolve: ({ changed }) => [...changed],
    }),
    deletedUids: t.stringList({
      description: 'The uids of deleted campaigns.',
      extensions: { listLength: CHANGES_MAX },
      resolve: ({ deletedUids }) => [...deletedUids],
    }),
  }),
});

builder.subscriptionField('campaignChanges', (t) =>
  t.field({
    type: CampaignChangesType,
    description:
      'All campaigns of the customer: those that are open now, then what changes of any, rows and figures, at most four times a second. A slow reader gets changes together, each campaign in its newest state.',
    authScopes: reading,
    subscribe: (_root, _args, ctx) => watchCampaigns(ctx, ctx.notifications),
    resolve: (changes) => changes,
  }),
);
