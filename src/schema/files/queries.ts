/** Reading files: the caller's own. */
import { findOwnedFile } from '../../domain/files/file-store.ts';
import { builder } from '../builder.ts';
import { nounIndex, ownRows } from '../noun-index.ts';
import { fileRow, UploadedFile } from './file.ts';

const reading = { scope: 'files:read' } as const;

builder.queryField('file', (t) =>
  t.prismaField({
    type: UploadedFile,
    description: 'One file.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => fileRow(ctx, query, await findOwnedFile(ctx, uid)),
  }),
);

const index = nounIndex('UploadedFile', UploadedFile, {
  access: reading,
  count: (ctx, where) => ctx.prisma.uploadedFile.count({ where }),
  find: (ctx, query) => ctx.prisma.uploadedFile.findMany(query),
});
index.connection('files', { description: 'The files, the newest first.', order: 'desc', whereOf: ownRows });
index.pages('filesPage', { description: 'The same by numbered pages.', order: 'desc', whereOf: ownRows });
