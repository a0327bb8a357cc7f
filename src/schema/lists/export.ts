/** A list's people in pages for downloads. */
import { cursorInput, rowsInput } from '../page-inputs.ts';
import { EXPORT_PAGE_MAX, exportList, type ExportPage } from '../../domain/audience/export-list.ts';
import { builder } from '../builder.ts';
import { PER_PAGE_DEFAULT } from '../limits.ts';

const reading = { scope: 'subscribers:read' } as const;

const ListExportPage = builder.objectRef<ExportPage>('ListExportPage').implement({
  authScopes: reading,
  fields: (t) => ({
    csv: t.exposeString('csv', {
      description:
        'RFC 4180, safe to open in a spreadsheet, and taken back by an import; the first page begins with the header.',
    }),
    cursor: t.exposeString('cursor', { nullable: true, description: 'For the next page; null: this is the last.' }),
  }),
});

builder.queryField('listExport', (t) =>
  t.field({
    type: ListExportPage,
    description: `Everybody on a list as CSV, in pages of up to ${EXPORT_PAGE_MAX} people.`,
    authScopes: reading,
    args: {
      listUid: t.arg.string({ required: true }),
      after: t.arg.string({ description: 'Of the page before.', check: cursorInput }),
      perPage: t.arg.int({ defaultValue: PER_PAGE_DEFAULT, check: rowsInput(EXPORT_PAGE_MAX) }),
    },
    resolve: (_root, { listUid, after, perPage }, ctx) => {
      const limit = Math.min(Math.max(perPage ?? PER_PAGE_DEFAULT, 1), EXPORT_PAGE_MAX);
      return exportList(ctx, { listUid, after: after ?? null, limit });
    },
  }),
);
