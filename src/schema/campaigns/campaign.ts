/** Reading campaigns: content, state, and figures from counters through one loader. */
import { listNamesOf } from '../../domain/audience/list-store.ts';
import { segmentNames, type SegmentName } from '../../domain/audience/segments/segment-store.ts';
import { viewerOf } from '../../domain/context.ts';
import { statusReasonsOf } from '../../domain/campaigns/campaign-wait.ts';
import { readCampaignStatistics } from '../../domain/statistics/campaign-statistics-read-model.ts';
import { builder } from '../builder.ts';
import { CampaignStatus, CampaignType } from '../enums.ts';
import type { GraphqlContext } from '../context.ts';
import { MailList } from '../lists/mail-list.ts';
import { loadBy } from '../loaders/load-by.ts';
import { CampaignStatistics } from '../statistics/campaign-statistics.ts';

const readStatistics = (ctx: GraphqlContext, ids: readonly bigint[]) => {
  const { customerId } = viewerOf(ctx);
  return readCampaignStatistics(
    ctx,
    ids.map((campaignId) => ({ customerId, campaignId })),
  );
};

const SEGMENT = { segmentId: true, segmentSnapshot: true } as const;
const readSegments = (ctx: GraphqlContext, ids: readonly bigint[]) =>
  segmentNames(ctx.db, viewerOf(ctx).customerId, ids);

/** The segment that the campaign was started with, else the one it would be started with. */
async function segmentOf(
  ctx: GraphqlContext,
  { segmentId, segmentSnapshot }: { segmentId: bigint | null; segmentSnapshot: unknown },
): Promise<SegmentName | null> {
  if (isSnapshot(segmentSnapshot)) return segmentSnapshot;
  return segmentId === null ? null : loadBy(ctx, readSegments).load(segmentId);
}

const readLists = (ctx: GraphqlContext, ids: readonly bigint[]) => listNamesOf(ctx.db, viewerOf(ctx).customerId, ids);

const listOf = (ctx: GraphqlContext, id: bigint) => loadBy(ctx, readLists).load(id);

function isSnapshot(value: unknown): value is SegmentName {
  return typeof value === 'object' && value !== null && 'uid' in value && 'name' in value;
}

export const Campaign = builder.prismaObject('Campaign', {
  authScopes: { scope: 'campaigns:read' },
  select: { id: true, customerId: true, snapshotOn: true, listId: true },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    type: t.expose('type', { type: CampaignType }),
    status: t.expose('status', { type: CampaignStatus }),
    statusReason: t.string({
      nullable: true,
      description:
        'Why the campaign has its status, in words; while it is being sent: what it waits for, and until when.',
      resolve: ({ customerId, id }, _args, ctx) => loadBy(ctx, statusReasonsOf).load({ customerId, campaignId: id }),
    }),
    waitsUntil: t.expose('waitUntil', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the campaign continues by itself, for example after credits or quota of the plan were used up; it stays `sending` until then. Null with a `statusReason`: nobody knows yet.',
    }),
    deliveryAt: t.expose('deliveryAt', { type: 'DateTime', nullable: true }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    listUid: t.string({
      description: 'Also when the list was deleted.',
      select: { listUid: true },
      resolve: async ({ listId, listUid }, _args, ctx) => listUid ?? (await listOf(ctx, listId))?.uid ?? '',
    }),
    listName: t.string({
      description: 'When the list was deleted: the name that it had.',
      select: { listName: true },
      resolve: async ({ listId, listName }, _args, ctx) => listName ?? (await listOf(ctx, listId))?.name ?? '',
    }),
    segmentUid: t.string({
      nullable: true,
      select: SEGMENT,
      resolve: async (row, _args, ctx) => (await segmentOf(ctx, row))?.uid,
    }),
    segmentName: t.string({
      nullable: true,
      description: 'The name of the segment, as it was at the start; null: everybody on the list.',
      select: SEGMENT,
      resolve: async (row, _args, ctx) => (await segmentOf(ctx, row))?.name,
    }),
    remindMessage: t.string({
      nullable: true,
      description: 'The list’s text that says why recipients get this mail.',
      resolve: async ({ listId }, _args, ctx) => (await listOf(ctx, listId))?.remindMessage,
    }),
    // Nullable: a token without the right to read lists can still read its campaigns.
    list: t.prismaField({
      type: MailList,
      nullable: true,
      description: 'Null when the list was deleted.',
      resolve: (query, { customerId, listId: id }, _args, ctx) =>
        ctx.prisma.mailList.findUnique({ ...query, where: { customerId_id: { customerId, id } } }),
    }),
    statistics: t.field({
      type: CampaignStatistics,
      resolve: ({ id }, _args, ctx) => loadBy(ctx, readStatistics).load(id),
    }),
  }),
});
