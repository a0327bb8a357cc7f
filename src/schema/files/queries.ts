/** Reading files: the caller's own. */
import { viewerOf } from '../../domain/context.ts';
import { ownFile } from '../../domain/files/file-store.ts';
import { builder } from '../builder.ts';
import { countedPage, pageArgs } from '../page.ts';
import { fileRow, UploadedFile, UploadedFilePage } from './file.ts';

const reading = { scope: 'files:read' } as const;

builder.queryField('file', (t) =>
  t.prismaField({
    type: UploadedFile,
    description: 'One file.',
    authScopes: reading,
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => fileRow(ctx, query, await ownFile(ctx, uid)),
  }),
);

builder.queryField('files', (t) =>
  t.prismaConnection(
    {
      type: UploadedFile,
      cursor: 'customerId_id',
      description: 'The files, the newest first.',
      authScopes: reading,
      resolve: (query, _root, _args, ctx) =>
        ctx.prisma.uploadedFile.findMany({
          ...query,
          where: { customerId: viewerOf(ctx).customerId },
          orderBy: { id: 'desc' },
        }),
    },
    { name: 'UploadedFileConnection' },
    { name: 'UploadedFileEdge' },
  ),
);

builder.queryField('filesPage', (t) =>
  t.field({
    type: UploadedFilePage,
    description: 'The same by numbered pages.',
    authScopes: reading,
    args: pageArgs(),
    resolve: (_root, args, ctx) => {
      const where = { customerId: viewerOf(ctx).customerId };
      return countedPage(args, {
        find: (window) => ctx.prisma.uploadedFile.findMany({ where, orderBy: { id: 'desc' }, ...window }),
        count: () => ctx.prisma.uploadedFile.count({ where }),
      });
    },
  }),
);
