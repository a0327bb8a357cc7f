/** Uploading files in pieces or from an address, and deleting them. */
import { filePlaceInput, pieceNoInput } from '../../domain/files/file.ts';
import { deleteFile } from '../../domain/files/delete-file.ts';
import { appendToFile, finishFileUpload, startFileUpload } from '../../domain/files/upload-file.ts';
import { fileUrlInput, uploadFileFromUrl } from '../../domain/files/upload-file-from-url.ts';
import type { StoredFile } from '../../domain/files/file.ts';
import { builder } from '../builder.ts';
import { fileRow, UploadedFile } from './file.ts';

const writing = { scope: 'files:write' } as const;
/** Each may take ten seconds and a connection. */
const FETCHES_PER_REQUEST = 5;

builder.mutationField('startFileUpload', (t) =>
  t.prismaFieldWithInput({
    type: UploadedFile,
    description: 'Begins an upload. The file follows in pieces, then finishFileUpload.',
    authScopes: writing,
    typeOptions: { checks: filePlaceInput },
    input: {
      name: t.input.string({ required: true }),
      subdirectory: t.input.string({ description: 'The folder for it: `images/2026`.' }),
    },
    resolve: async (query, _root, { input }, ctx) => fileRow(ctx, query, await startFileUpload(ctx, input)),
  }),
);

const FilePiece = builder.objectRef<StoredFile>('FilePieceReceived').implement({
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'Bytes that have arrived so far.' }),
  }),
});

builder.mutationField('appendToFile', (t) =>
  t.fieldWithInput({
    type: FilePiece,
    description: 'Uploads one piece of the file, of at most 1 MiB. The same number again changes nothing.',
    authScopes: writing,
    typeOptions: { checks: { no: pieceNoInput } },
    input: {
      uid: t.input.string({ required: true }),
      no: t.input.int({ required: true, description: 'Counted from 0.' }),
      bytes: t.input.field({ type: 'Base64', required: true }),
    },
    resolve: (_root, { input }, ctx) => appendToFile(ctx, input),
  }),
);

builder.mutationField('finishFileUpload', (t) =>
  t.prismaField({
    type: UploadedFile,
    description: 'Ends the upload, after all pieces; from then on the file has an address.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, args, ctx) => fileRow(ctx, query, await finishFileUpload(ctx, args)),
  }),
);

builder.mutationField('uploadFileFromUrl', (t) =>
  t.prismaFieldWithInput({
    type: UploadedFile,
    description: 'Uploads what a public http or https address answers, within ten seconds and without redirects.',
    authScopes: writing,
    executionsMax: FETCHES_PER_REQUEST,
    typeOptions: { checks: { ...filePlaceInput, url: fileUrlInput } },
    input: {
      url: t.input.string({ required: true }),
      subdirectory: t.input.string(),
    },
    resolve: async (query, _root, { input }, ctx) => fileRow(ctx, query, await uploadFileFromUrl(ctx, input)),
  }),
);

const DeletedFile = builder.objectRef<{ uid: string }>('DeletedFile').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteFile', (t) =>
  t.field({
    type: DeletedFile,
    description: 'Deletes a file, or cancels its upload. Its address does not work any more.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, args, ctx) => deleteFile(ctx, args),
  }),
);
