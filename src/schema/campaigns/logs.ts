/** The logs of a campaign in pages for downloads. */
import { cursorInput, rowsInput } from '../page-inputs.ts';
import { findOwnedCampaign } from '../../domain/campaigns/find-owned-campaign.ts';
import {
  type LOGS,
  LOG_PAGE_MAX,
  readCampaignLog,
  type LogPage,
} from '../../domain/tracking/campaign-log-read-model.ts';
import { csvLine } from '../../lib/csv.ts';
import { builder } from '../builder.ts';
import { PER_PAGE_DEFAULT } from '../limits.ts';

const reading = { scope: 'campaigns:read' } as const;

const CampaignLog = builder.enumType('CampaignLog', {
  description: '`tracking` has a row for each recipient, the other logs have one for each event.',
  values: {
    tracking: { description: 'Every recipient with the result of the delivery.' },
    open: { description: 'Every open.' },
    click: { description: 'Every click.' },
    bounce: { description: 'Every bounce.' },
    feedback: { description: 'Every complaint.' },
    unsubscribe: { description: 'Every person who left by a link of the campaign.' },
  } satisfies Record<(typeof LOGS)[number], object>,
});

const CampaignLogPage = builder.objectRef<LogPage>('CampaignLogPage').implement({
  description: 'Some rows of a log, in one of several forms.',
  authScopes: reading,
  fields: (t) => ({
    columns: t.stringList({ resolve: ({ columns }) => [...columns] }),
    nodes: t.field({
      description: 'The rows, cell by cell, in the order of the columns.',
      type: t.listRef(t.listRef('String', { nullable: true })),
      resolve: ({ rows }) => rows.map((cells) => cells.map((cell) => (cell === null ? null : String(cell)))),
    }),
    csv: t.string({
      description: 'RFC 4180, safe to open in a spreadsheet; the first page begins with the header.',
      resolve: ({ isFirst, columns, rows }) =>
        (isFirst ? csvLine(columns) : '') +
        rows.map((cells) => csvLine(cells.map((cell) => (typeof cell === 'boolean' ? Number(cell) : cell)))).join(''),
    }),
    json: t.string({
      description: 'JSON objects, a line each.',
      resolve: ({ columns, rows }) => rows.map((cells) => jsonLine(columns, cells)).join('\n'),
    }),
    cursor: t.exposeString('cursor', { nullable: true, description: 'For the next page; null: this is the last.' }),
  }),
});

builder.queryField('campaignLog', (t) =>
  t.field({
    type: CampaignLogPage,
    description: `A campaign's log, the oldest first, in pages of up to ${LOG_PAGE_MAX} rows. What comes after the first page was read is not in it.`,
    authScopes: reading,
    args: {
      uid: t.arg.string({ required: true }),
      log: t.arg({ type: CampaignLog, required: true }),
      after: t.arg.string({ description: 'Of the page before.', check: cursorInput }),
      perPage: t.arg.int({ defaultValue: PER_PAGE_DEFAULT, check: rowsInput(LOG_PAGE_MAX) }),
    },
    resolve: async (_root, { uid, log, after, perPage }, ctx) => {
      const campaign = await findOwnedCampaign(ctx, uid);
      const limit = Math.min(Math.max(perPage ?? PER_PAGE_DEFAULT, 1), LOG_PAGE_MAX);
      return readCampaignLog(ctx, campaign, { log, after: after ?? null, limit });
    },
  }),
);

function jsonLine(columns: readonly string[], cells: LogPage['rows'][number]): string {
  return JSON.stringify(Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? null])));
}
