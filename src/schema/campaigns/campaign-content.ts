/** The html and plain text of campaigns, and warnings about them: read only when asked for, and only so much in one request as fits in memory. */
import {
  campaignContents,
  htmlSizes,
  type CampaignContent,
} from '../../domain/campaigns/campaign-content-read-model.ts';
import { clippedWarnings } from '../../domain/content/message-warnings.ts';
import { viewerOf } from '../../domain/context.ts';
import { CONTENT_LIMIT, takeContent } from '../answer-content.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { CONTENT_BYTES_MAX } from '../limits.ts';
import { loadBy } from '../loaders/load-by.ts';
import { Campaign } from './campaign.ts';

/** What is read without asking for its size first: most campaigns have some kilobytes. */
const SMALL_BYTES = 256 * 1024;

/**
 * The contents of these rows. The key is the row as it was read and not its id: a request may change a campaign and read it again.
 * Throws what `takeContent` throws.
 */
async function readContents(ctx: GraphqlContext, campaigns: readonly { id: bigint }[]): Promise<CampaignContent[]> {
  const key = { customerId: viewerOf(ctx).customerId, ids: campaigns.map(({ id }) => id) };
  const small = await campaignContents(ctx.db, { ...key, bytesMax: SMALL_BYTES });
  await takeContent(ctx, small.bytes);
  const contents = small.contents ?? (await readLarge(ctx, key));
  const found = new Map(contents.map((content) => [content.id, content]));
  // Without its row the campaign was deleted meanwhile.
  return campaigns.map(({ id }) => found.get(id) ?? { id, html: '', plain: '' });
}

async function readLarge(
  ctx: GraphqlContext,
  key: { customerId: bigint; ids: readonly bigint[] },
): Promise<readonly CampaignContent[]> {
  const { bytes, contents } = await campaignContents(ctx.db, { ...key, bytesMax: CONTENT_BYTES_MAX });
  if (contents) return contents;
  // It grew while it waited.
  await takeContent(ctx, bytes);
  return [];
}

const KEY = { id: true } as const;
const contentOf = (ctx: GraphqlContext, row: { id: bigint }) => loadBy(ctx, readContents).load(row);

const readSizes = (ctx: GraphqlContext, campaigns: readonly { id: bigint }[]) =>
  htmlSizes(ctx.db, { customerId: viewerOf(ctx).customerId, ids: campaigns.map(({ id }) => id) });

builder.prismaObjectFields(Campaign, (t) => ({
  html: t.string({
    description: CONTENT_LIMIT,
    select: KEY,
    resolve: async (row, _args, ctx) => (await contentOf(ctx, row)).html,
  }),
  plain: t.string({
    description: `The plain text part; empty: made from the html. ${CONTENT_LIMIT}`,
    select: KEY,
    resolve: async (row, _args, ctx) => (await contentOf(ctx, row)).plain,
  }),
  warnings: t.stringList({
    description:
      'What its author should know although it can be sent: its html is so long that Gmail clips it. A preview has all warnings.',
    select: KEY,
    resolve: async (row, _args, ctx) => clippedWarnings(await loadBy(ctx, readSizes).load(row)),
  }),
}));
