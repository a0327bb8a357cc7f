/**
 * The upload is complete: decides how the file is read and queues the import. A file that cannot be imported fails at once, so
 * that the uploader sees it now and not in a report.
 */
import type { z } from 'zod';
import { parseInput } from '../../../lib/text.ts';
import { inTransaction, type Context } from '../../context.ts';
import { fieldsOfList } from '../list-field-store.ts';
import { lastPersonId } from '../verification-read-model.ts';
import { enqueueImport } from './dispatch-import.ts';
import { detectEncoding } from './file-encoding.ts';
import { checkUploadComplete, readFileStart, rewriteAsUtf8, stretchBeyondAscii } from './import-file.ts';
import { ImportFileError, unusableFile, uploadOver } from './list-import-errors.ts';
import { endImport, updateImport } from './list-import-store.ts';
import { finishImportInput, type ColumnMapping, type FinishImportInput, type ListImport } from './list-import.ts';
import { lockOwnedImport, findOwnedImport } from './find-owned-import.ts';
import { PLAN_BYTES, planImport } from './plan-import.ts';

export type FinishImportUploadInput = FinishImportInput & { readonly uid: string };

/**
 * Puts the caller's import into state `queued` and returns it with its columns and notices. Throws ValidationError
 * (`IMPORT_FILE_UNUSABLE` or `mapping.<header>`: the import is `failed` then; `IMPORT_CHUNK_MISSING` and wrong input do not
 * change it), WrongStateError `IMPORT_NOT_UPLOADING`, NotFoundError, ForeignResourceError.
 */
export async function finishImportUpload(
  ctx: Context,
  { uid, ...options }: FinishImportUploadInput,
): Promise<ListImport> {
  const { mapping, updateExisting, tag, runAutomations, verify, ...verification } = parseInput(
    finishImportInput,
    options,
  );
  const outcome = await inTransaction(ctx, async (inner) => {
    const found = await lockOwnedImport(inner, uid);
    if (found.status !== 'uploading') throw uploadOver(found.status);
    await checkUploadComplete(inner.db, found);
    try {
      await makePlan(inner, found, mapping);
    } catch (error) {
      if (!(error instanceof ImportFileError)) throw error;
      await endImport(inner.db, found, { status: 'failed', failure: error.failure });
      return error;
    }
    const change = { updateExisting, tag: tag === '' ? null : tag, runAutomations };
    await updateImport(inner.db, found, { status: 'queued', ...change });
    if (verify) await verifyAtEnd(inner, found, verification);
    await enqueueImport(inner, found);
    return findOwnedImport(inner, uid);
  });
  if (outcome instanceof ImportFileError) throw outcome;
  return outcome;
}

type VerificationAtEnd = Pick<z.output<typeof finishImportInput>, 'verificationServer' | 'suppressUndeliverable'>;

/** Only people whom it adds are verified: they have ids greater than everybody now. */
async function verifyAtEnd(
  { db }: Context,
  found: ListImport,
  { verificationServer, suppressUndeliverable }: VerificationAtEnd,
): Promise<void> {
  await updateImport(db, found, {
    ...{ verify: true, verifyBy: verificationServer ?? null, verifyAfter: await lastPersonId(db, found) },
    verifySuppresses: suppressUndeliverable,
  });
}

async function makePlan({ db }: Context, found: ListImport, mapping: ColumnMapping): Promise<void> {
  if (found.bytesTotal === 0n) throw unusableFile({ code: 'file_empty', params: {} });
  const { bytes: first } = await readFileStart(db, found, 1);
  const encoding = detectEncoding({ first, beyondAscii: await stretchBeyondAscii(db, found) });
  const bytesTotal = encoding === 'utf-8' ? undefined : await rewriteAsUtf8(db, found, encoding);
  const { bytes, isLast } = await readFileStart(db, found, PLAN_BYTES);
  const fields = await fieldsOfList(db, { customerId: found.customerId, id: found.listId });
  const plan = planImport({ start: bytes, isWhole: isLast, fields, mapping });
  await updateImport(db, found, { ...plan, encoding, ...(bytesTotal === undefined ? {} : { bytesTotal }) });
}
