/** The errors of imports, by code. */
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../../lib/errors.ts';
import { mappingFaultText, reportText, type ImportFailure, type MappingFault } from './import-report.ts';
import type { ImportStatus } from './list-import.ts';

const NO_IMPORT = ['IMPORT_NOT_FOUND', 'No import has this uid.'] as const;
export const importNotFound = () => new NotFoundError(...NO_IMPORT);
export const foreignImport = () => new ForeignResourceError(...NO_IMPORT);

export const uploadOver = (status: ImportStatus) =>
  new WrongStateError('IMPORT_NOT_UPLOADING', `The upload of this import has ended: it is ${status}.`);

export const importOver = (status: ImportStatus) =>
  new WrongStateError('IMPORT_OVER', `The import is ${status} already.`);

/** The file cannot be imported: the import reports this from then on. */
export class ImportFileError extends ValidationError {
  readonly failure: ImportFailure;

  constructor(failure: ImportFailure, ...[fields, code]: ConstructorParameters<typeof ValidationError>) {
    super(fields, code);
    this.failure = failure;
  }
}

/** The text says why, and what to do. */
export const unusableFile = (failure: ImportFailure) =>
  new ImportFileError(failure, { file: [reportText(failure)] }, 'IMPORT_FILE_UNUSABLE');

export const wrongMapping = (faults: readonly MappingFault[]) =>
  new ImportFileError(
    { code: 'mapping_wrong', params: { faults } },
    Object.fromEntries(faults.map((fault) => [`mapping.${fault.column}`, [mappingFaultText(fault)]])),
  );

export const fileTooLarge = (megabytes: number) =>
  new ValidationError({ file: [`The file may not be greater than ${megabytes} MB.`] }, 'IMPORT_FILE_TOO_LARGE');

export const chunkMissing = (no: number) =>
  new ValidationError({ file: [`The upload is incomplete: piece ${no} is missing.`] }, 'IMPORT_CHUNK_MISSING');

export const wrongChunk = (sentence: string) => new ValidationError({ chunk: [sentence] }, 'IMPORT_CHUNK_WRONG');
