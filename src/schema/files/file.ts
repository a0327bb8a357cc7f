/** Uploaded files. */
import type { StoredFile } from '../../domain/files/file.ts';
import { builder } from '../builder.ts';
import { FileStatus } from '../enums.ts';
import type { GraphqlContext } from '../context.ts';

export const UploadedFile = builder.prismaObject('UploadedFile', {
  description: 'A file for mails and pages. Everybody who knows its address can read it.',
  authScopes: { scope: 'files:read' },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    path: t.exposeString('path'),
    status: t.expose('status', { type: FileStatus }),
    contentType: t.exposeString('contentType', { description: 'Recognised by its first bytes.' }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt' }),
    url: t.string({
      nullable: true,
      description: 'Its public address; null until the upload is complete.',
      select: { token: true, name: true, status: true },
      resolve: ({ token, name, status }, _args, ctx) =>
        status === 'ready' ? `${ctx.installation.baseUrl}/files/${token}/${encodeURIComponent(name)}` : null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

/** The row of a file that a verb returned. */
export function fileRow(ctx: GraphqlContext, query: object, { customerId, id }: Pick<StoredFile, 'customerId' | 'id'>) {
  return ctx.prisma.uploadedFile.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
}
