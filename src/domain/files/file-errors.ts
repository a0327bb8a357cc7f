/** The errors of files, by code. */
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../lib/errors.ts';

const NO_FILE = ['FILE_NOT_FOUND', 'No file has this uid.'] as const;
export const fileNotFound = () => new NotFoundError(...NO_FILE);
export const foreignFile = () => new ForeignResourceError(...NO_FILE);

export const wrongPath = (field: 'name' | 'subdirectory', message: string) =>
  new ValidationError({ [field]: [message] }, 'FILE_PATH_WRONG');

export const wrongPiece = (message: string) => new ValidationError({ bytes: [message] }, 'FILE_PIECE_WRONG');

export const emptyFile = () => new ValidationError({ file: ['The file is empty.'] }, 'FILE_EMPTY');

export const fileBeyondLimit = (megabytes: number) =>
  new ValidationError({ file: [`A file may have ${megabytes} MB on this installation.`] }, 'FILE_TOO_LARGE');

export const tooManyUploads = (max: number) =>
  new ValidationError(
    { file: [`At most ${max} uploads may be under way at once: finish or delete some.`] },
    'TOO_MANY_UPLOADS',
  );

export const uploadComplete = () =>
  new WrongStateError('FILE_COMPLETE', 'The upload of this file is complete already.');

export const cannotFetch = (why: string) => new ValidationError({ url: [why] }, 'FILE_NOT_FETCHED');
