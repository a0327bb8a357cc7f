/** Importing people: start, upload in pieces, finish; or cancel. */
import { chunkNoInput, finishImportInput, startImportInput } from '../../domain/audience/imports/list-import.ts';
import { appendImportChunk } from '../../domain/audience/imports/append-import-chunk.ts';
import { cancelImport } from '../../domain/audience/imports/cancel-import.ts';
import { finishImportUpload } from '../../domain/audience/imports/finish-import-upload.ts';
import type { ColumnMapping, ImportKey, ListImport } from '../../domain/audience/imports/list-import.ts';
import { startListImport } from '../../domain/audience/imports/start-list-import.ts';
import { viewerOf } from '../../domain/context.ts';
import { requireVerifier } from '../../domain/verification/require-verifier.ts';
import { ValidationError } from '../../lib/errors.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { UndeliverableAction } from '../verification/undeliverable-action.ts';
import { MailListImport } from './list-import.ts';

const writing = { scope: 'subscribers:write' } as const;

builder.mutationField('startListImport', (t) =>
  t.prismaFieldWithInput({
    type: MailListImport,
    description: 'Begins an import of a CSV file. The file follows in pieces, then finishListImport.',
    authScopes: writing,
    typeOptions: { checks: startImportInput.shape },
    input: { listUid: t.input.string({ required: true }), fileName: t.input.string() },
    resolve: async (query, _root, { input }, ctx) => found(ctx, query, await startListImport(ctx, input)),
  }),
);

const ImportPiece = builder.objectRef<ListImport>('ImportPieceReceived').implement({
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    bytesTotal: t.expose('bytesTotal', { type: 'BigInt', description: 'Bytes that have arrived so far.' }),
  }),
});

builder.mutationField('appendToListImport', (t) =>
  t.fieldWithInput({
    type: ImportPiece,
    description: 'Uploads one piece of the file, of at most 1 MiB. The same number again changes nothing.',
    authScopes: writing,
    typeOptions: { checks: { no: chunkNoInput } },
    input: {
      uid: t.input.string({ required: true }),
      no: t.input.int({ required: true, description: 'Counted from 0.' }),
      bytes: t.input.field({ type: 'Base64', required: true }),
    },
    resolve: (_root, { input }, ctx) => appendImportChunk(ctx, input),
  }),
);

builder.mutationField('finishListImport', (t) =>
  t.prismaFieldWithInput({
    type: MailListImport,
    description: 'Ends the upload. The columns are recognised now; a job imports the people.',
    authScopes: writing,
    typeOptions: { checks: finishImportInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      mapping: t.input.field({
        type: 'JsonObject',
        description:
          'Header, or number from 1, of a column to a field tag, `EMAIL`, `STATUS` or `TAGS`; null: not imported. ' +
          'Columns that are not named are found by their header.',
      }),
      updateExisting: t.input.boolean({
        defaultValue: true,
        description: 'Change people who are on the list already.',
      }),
      tag: t.input.string({ description: 'Tags that everybody in the file gets.' }),
      runAutomations: t.input.boolean({
        defaultValue: false,
        description: 'What it does to people may start automations: who is added, tagged or changed enters them.',
      }),
      verify: t.input.boolean({
        defaultValue: false,
        description: 'Verify the people that it adds, when it ends: a verification with `importUid`.',
      }),
      verificationServer: t.input.string({
        description: 'For `verify`: uid of one of `usableVerificationServers`; absent: the first of them.',
      }),
      undeliverable: t.input.field({
        type: UndeliverableAction,
        description: 'For `verify`: what is done with addresses that are found undeliverable; `keep` if absent.',
      }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { uid, mapping, updateExisting, tag, runAutomations, verify, verificationServer, undeliverable } = input;
      if (verify)
        await requireVerifier(ctx.db, { customerId: viewerOf(ctx).customerId, uid: verificationServer ?? null });
      const options = {
        mapping: mappingOf(mapping ?? {}),
        updateExisting: updateExisting ?? true,
        tag: tag ?? '',
        runAutomations: runAutomations ?? false,
        verify: verify ?? false,
        suppressUndeliverable: undeliverable === 'suppress',
      };
      return found(ctx, query, await finishImportUpload(ctx, { uid, ...options, verificationServer }));
    },
  }),
);

builder.mutationField('cancelListImport', (t) =>
  t.prismaField({
    type: MailListImport,
    description: 'Stops an import. People who were imported stay on the list.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) => found(ctx, query, await cancelImport(ctx, uid)),
  }),
);

function found(ctx: GraphqlContext, query: object, { customerId, id }: ImportKey) {
  return ctx.prisma.mailListImport.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
}

function mappingOf(json: Readonly<Record<string, unknown>>): ColumnMapping {
  const entries = Object.entries(json).map(([header, target]): [string, string | null] => {
    if (typeof target === 'string' || target === null) return [header, target];
    throw new ValidationError({ [`mapping.${header}`]: ['The target must be a text or null.'] });
  });
  return Object.fromEntries(entries);
}
