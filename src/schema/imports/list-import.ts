/** Imports of people into lists, with live progress and rejected lines. */
import { rowsInput } from '../page-inputs.ts';
import { z } from 'zod';
import { rejectedLines, type RejectedLine } from '../../domain/audience/imports/import-rejection-store.ts';
import { importTextsOf } from '../../domain/audience/imports/list-import-read-model.ts';
import { reportText } from '../../domain/audience/imports/import-report.ts';
import { isOpen, totalOf, type ImportStatus } from '../../domain/audience/imports/list-import.ts';
import type { MailListImport as Row } from '../../generated/prisma/client.ts';
import { builder } from '../builder.ts';
import { MailList } from '../lists/mail-list.ts';
import { loadBy } from '../loaders/load-by.ts';

const reading = { scope: 'subscribers:read' } as const;

/** Rejected lines per answer; a download reads several pages. */
export const REJECTED_LINES_MAX = 1_000;
const REJECTED_LINES_DEFAULT = 100;

const ImportStatusType = builder.enumType('ImportStatus', {
  description: 'The state of an import.',
  values: {
    uploading: { description: 'Pieces of the file are missing.' },
    queued: { description: 'Has not begun.' },
    running: { description: 'People are being added.' },
    done: { description: 'Every line was read.' },
    cancelled: { description: 'Somebody stopped it; people who were imported stay.' },
    failed: { description: 'It could not go on.' },
  },
});

interface Column {
  readonly header: string;
  readonly target: string | null;
}

const ImportColumn = builder.objectRef<Column>('ImportColumn').implement({
  description: 'A column of the file, and the field it is imported into.',
  fields: (t) => ({
    header: t.exposeString('header', { description: 'As the file spells it; empty when the file has no header line.' }),
    target: t.exposeString('target', {
      nullable: true,
      description: 'The tag of a field, `EMAIL`, `STATUS` or `TAGS`; null: not imported.',
    }),
  }),
});

const RejectedLineType = builder.objectRef<RejectedLine>('RejectedImportLine').implement({
  description: 'A line of the file that was rejected.',
  fields: (t) => ({
    line: t.exposeInt('line', { description: 'Number of the line in the file, from 1.' }),
    reason: t.string({ resolve: ({ reason }) => reportText(reason) }),
    cells: t.exposeStringList('cells'),
  }),
});

export const MailListImport = builder.prismaObject('MailListImport', {
  description: 'The import of one file into a list.',
  authScopes: reading,
  select: { customerId: true, id: true, status: true },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    fileName: t.exposeString('fileName'),
    status: t.field({ type: ImportStatusType, resolve: ({ status }) => statusOf(status) }),
    isOver: t.boolean({
      description: 'Whether the import has ended.',
      resolve: ({ status }) => !isOpen({ status: statusOf(status) }),
    }),
    encoding: t.exposeString('encoding', {
      nullable: true,
      description: 'The character encoding; known when the upload is complete.',
    }),
    separator: t.exposeString('separator', { nullable: true }),
    hasHeader: t.exposeBoolean('hasHeader'),
    columns: t.field({ type: [ImportColumn], select: { columns: true }, resolve: ({ columns }) => columnsOf(columns) }),
    notices: t.stringList({
      description: 'Notices about the file, for the person who uploaded it.',
      resolve: async (key, _args, ctx) => [...(await loadBy(ctx, importTextsOf).load(key)).notices],
    }),
    updateExisting: t.exposeBoolean('updateExisting'),
    tag: t.exposeString('tag', { nullable: true, description: 'A tag that everybody in the file gets.' }),
    bytesTotal: t.expose('bytesTotal', { type: 'BigInt' }),
    bytesProcessed: t.expose('bytesProcessed', { type: 'BigInt' }),
    progress: t.float({
      description: 'From 0 to 1, by bytes of the file.',
      select: { bytesTotal: true, bytesProcessed: true },
      resolve: ({ bytesTotal, bytesProcessed }) =>
        bytesTotal === 0n ? 0 : Number(bytesProcessed) / Number(bytesTotal),
    }),
    total: t.int({
      description: 'People in the file; estimated until it has been read.',
      select: { processed: true, bytesTotal: true, bytesProcessed: true },
      resolve: (row) => totalOf({ ...row, status: statusOf(row.status) }),
    }),
    processed: t.exposeInt('processed', { description: 'added + updated + unchanged + rejected.' }),
    added: t.exposeInt('added'),
    updated: t.exposeInt('updated', { description: 'People on the list for whom the file said something new.' }),
    unchanged: t.exposeInt('unchanged'),
    rejected: t.exposeInt('rejected'),
    error: t.string({
      nullable: true,
      resolve: async (key, _args, ctx) => (await loadBy(ctx, importTextsOf).load(key)).error,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true }),
    list: t.relation('list', { type: MailList }),
    rejectedLines: t.field({
      type: [RejectedLineType],
      description: `Lines that were not taken, or whose tags were left out, in the order of the file; at most ${REJECTED_LINES_MAX} at once.`,
      args: {
        perPage: t.arg.int({ defaultValue: REJECTED_LINES_DEFAULT, check: rowsInput(REJECTED_LINES_MAX) }),
        afterLine: t.arg.int({
          defaultValue: 0,
          description: 'The last line that is known already.',
          check: z.int().min(0),
        }),
      },
      resolve: (key, { perPage, afterLine }, ctx) => {
        const limit = Math.min(REJECTED_LINES_MAX, Math.max(1, perPage ?? REJECTED_LINES_DEFAULT));
        return rejectedLines(ctx.db, key, { afterLine: afterLine ?? 0, limit });
      },
    }),
  }),
});

builder.prismaObjectField(MailList, 'imports', (t) =>
  t.relatedConnection(
    'imports',
    {
      cursor: 'customerId_id',
      totalCount: true,
      type: MailListImport,
      description: 'Files imported into the list, the newest first.',
      authScopes: reading,
      query: { orderBy: { id: 'desc' } },
    },
    { name: 'MailListImportConnection' },
    { name: 'MailListImportEdge' },
  ),
);

const STATUSES: readonly ImportStatus[] = ['uploading', 'queued', 'running', 'done', 'cancelled', 'failed'];

function statusOf(text: string): ImportStatus {
  const status = STATUSES.find((known) => known === text);
  if (!status) throw new Error(`An import has the status ${text}.`);
  return status;
}

function columnsOf(json: Row['columns']): Column[] {
  if (!Array.isArray(json)) return [];
  return json.flatMap((entry) => {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return [];
    const { header, target } = entry;
    return [{ header: typeof header === 'string' ? header : '', target: typeof target === 'string' ? target : null }];
  });
}
