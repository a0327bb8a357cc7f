/** The upload of an import: pieces, limits, files that cannot be taken, tenants, and uploads that nobody finishes. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { appendImportChunk } from '../../../../src/domain/audience/imports/append-import-chunk.ts';
import { cancelImport } from '../../../../src/domain/audience/imports/cancel-import.ts';
import { dropAbandonedImports } from '../../../../src/domain/audience/imports/drop-abandoned-imports.ts';
import { finishImportUpload } from '../../../../src/domain/audience/imports/finish-import-upload.ts';
import { reportText } from '../../../../src/domain/audience/imports/import-report.ts';
import { findOwnedImport } from '../../../../src/domain/audience/imports/find-owned-import.ts';
import { runListImport } from '../../../../src/domain/audience/imports/run-list-import.ts';
import { startListImport } from '../../../../src/domain/audience/imports/start-list-import.ts';
import { sql } from '../../../../src/db/database.ts';
import type { Context } from '../../../../src/domain/context.ts';
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../../../src/lib/errors.ts';
import { uploadFile } from '../../../support/import-file.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const root = await createTestContext();
const ctx = await createTenant(root);
const never = new AbortController().signal;

test('pieces in any order and twice are one file', async () => {
  const list = await newList(ctx);
  const { uid } = await startListImport(ctx, { listUid: list.uid, fileName: 'a.csv' });
  const pieces = ['email,first name\n', 'a@x.com,A\nb@', 'x.com,B\n'].map((text) => Buffer.from(text));
  for (const no of [2, 0, 2, 1, 0]) await appendImportChunk(ctx, { uid, no, bytes: pieces[no] ?? Buffer.alloc(0) });
  const queued = await finishImportUpload(ctx, { uid });
  expect(queued).toMatchObject({ status: 'queued', bytesTotal: 37n });
  await runListImport(ctx, queued, never);
  expect(await findOwnedImport(ctx, uid)).toMatchObject({ status: 'done', added: 2 });
  await expect(appendImportChunk(ctx, { uid, no: 3, bytes: Buffer.from('x') })).rejects.toBeInstanceOf(WrongStateError);
  await expect(finishImportUpload(ctx, { uid })).rejects.toBeInstanceOf(WrongStateError);
});

test('a hole, a piece too large and a file too large are refused', async () => {
  const list = await newList(ctx);
  const limited: Context = {
    ...ctx,
    installation: { ...ctx.installation, limits: { ...ctx.installation.limits, importBytesMax: 1_000_000 } },
  };
  const { uid } = await startListImport(ctx, { listUid: list.uid });
  await expect(appendImportChunk(ctx, { uid, no: 0, bytes: Buffer.alloc(1024 * 1024 + 1) })).rejects.toMatchObject({
    code: 'IMPORT_CHUNK_WRONG',
  });
  await expect(appendImportChunk(ctx, { uid, no: -1, bytes: Buffer.from('x') })).rejects.toMatchObject({
    code: 'IMPORT_CHUNK_WRONG',
  });
  await appendImportChunk(limited, { uid, no: 1, bytes: Buffer.alloc(600_000, 'x') });
  await expect(appendImportChunk(limited, { uid, no: 2, bytes: Buffer.alloc(600_000, 'x') })).rejects.toMatchObject({
    code: 'IMPORT_FILE_TOO_LARGE',
  });
  await expect(finishImportUpload(ctx, { uid })).rejects.toMatchObject({ code: 'IMPORT_CHUNK_MISSING' });
  expect(await findOwnedImport(ctx, uid)).toMatchObject({ status: 'uploading', bytesTotal: 600_000n });
});

test('a file that cannot be taken fails the import and says why', async () => {
  const list = await newList(ctx);
  const failed = await uploadFile(ctx, list, 'name,city\nAnna,Bath\n').catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(ValidationError);
  const [row] = await queryRows<{ uid: string }>(
    ctx.db,
    sql`SELECT uid FROM mail_list_import WHERE list_id = ${list.id}`,
  );
  // A code is stored; its text is made where it is shown.
  const { status, failure } = await findOwnedImport(ctx, row?.uid ?? '');
  const stored = { code: 'no_address_column', params: { columns: ['“name”', '“city”'] } };
  expect({ status, failure }).toEqual({ status: 'failed', failure: stored });
  expect(failure && reportText(failure)).toContain('No column contains email addresses');
});

test('belongs to its tenant', async () => {
  const list = await newList(ctx);
  const stranger = await createTenant(root);
  const { uid } = await startListImport(ctx, { listUid: list.uid });
  const acts = [
    () => findOwnedImport(stranger, uid),
    () => appendImportChunk(stranger, { uid, no: 0, bytes: Buffer.from('x') }),
    () => finishImportUpload(stranger, { uid }),
    () => cancelImport(stranger, uid),
    () => startListImport(stranger, { listUid: list.uid }),
  ];
  for (const act of acts) await expect(act()).rejects.toBeInstanceOf(ForeignResourceError);
  await expect(findOwnedImport(ctx, '0000000000000')).rejects.toBeInstanceOf(NotFoundError);
});

test('that nobody finishes is dropped after a day', async () => {
  const list = await newList(ctx);
  const { uid, id } = await startListImport(ctx, { listUid: list.uid });
  const { uid: fresh } = await startListImport(ctx, { listUid: list.uid });
  await appendImportChunk(ctx, { uid, no: 0, bytes: Buffer.from('email\n') });
  await ctx.db.execute(sql`UPDATE mail_list_import SET created_at = now() - interval '25 hours' WHERE id = ${id}`);
  expect(await dropAbandonedImports(ctx)).toBeGreaterThan(0);
  expect(await findOwnedImport(ctx, uid)).toMatchObject({ status: 'cancelled' });
  expect(await findOwnedImport(ctx, fresh)).toMatchObject({ status: 'uploading' });
});
