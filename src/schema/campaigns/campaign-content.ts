/** The html and plain text of campaigns, and warnings about them. */
import { clippedWarnings } from '../../domain/content/message-warnings.ts';
import { CONTENT_LIMIT } from '../answer-content.ts';
import { builder } from '../builder.ts';
import { contentOf } from '../content-fields.ts';
import { Campaign } from './campaign.ts';

const KEY = { id: true } as const;
const { content, htmlSize } = contentOf('campaign');

builder.prismaObjectFields(Campaign, (t) => ({
  html: t.string({
    description: CONTENT_LIMIT,
    select: KEY,
    resolve: async (row, _args, ctx) => (await content(ctx, row)).html,
  }),
  plain: t.string({
    description: `The plain text part; empty: made from the html. ${CONTENT_LIMIT}`,
    select: KEY,
    resolve: async (row, _args, ctx) => (await content(ctx, row)).plain,
  }),
  warnings: t.stringList({
    description:
      'What its author should know although it can be sent: its html is so long that Gmail clips it. A preview has all warnings.',
    select: KEY,
    resolve: async (row, _args, ctx) => clippedWarnings(await htmlSize(ctx, row)),
  }),
}));
