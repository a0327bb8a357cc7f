/**
 * Uploaded files: allowed names and sizes. A file has a path that the customer chooses; it is only a name and never a path on
 * disk (hard case F9). This file has no SQL.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { row, type RowOf, typed } from '../../db/database.ts';
import { wrongPath } from './file-errors.ts';

export type FileStatus = 'uploading' | 'ready';

export const STORED_FILE_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  token: 'text',
  name: 'text',
  path: 'text',
  status: typed<FileStatus>('text'),
  contentType: 'text',
  sizeBytes: 'bigint',
});
export type StoredFile = RowOf<typeof STORED_FILE_ROW>;

/** One piece of an upload; the GraphQL entry point accepts no larger message. */
export const PIECE_BYTES_MAX = 1_048_576;
/** With pieces of one byte a client could fill the database with rows. */
export const PIECES_MAX = 10_000;
/** Open uploads per customer; more are abandoned or an attack. */
export const OPEN_UPLOADS_MAX = 20;
/** An upload that is not finished by then is deleted. */
export const UPLOAD_HOURS_MAX = 6;

const NAME_LENGTH_MAX = 200;
const FOLDERS_MAX = 8;
// 128 bits: no file can be found by guessing (hard case E4).
const TOKEN_BYTES = 16;

/** Types that may be displayed under our address: bitmap pictures, which cannot contain scripts. */
const SHOWN_TYPES = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/x-icon',
  'image/vnd.microsoft.icon',
]);

/** Whether a browser may display it; everything else is only downloaded (hard case F6). */
export function isShown(contentType: string): boolean {
  return SHOWN_TYPES.has(contentType);
}

/** A new token for a file's address. */
export function newFileToken(): string {
  return randomBytes(TOKEN_BYTES).toString('hex');
}

/** What `placeOf` allows. */
export const filePlaceInput = {
  name: z.string().describe(`At most ${NAME_LENGTH_MAX} characters.`),
  subdirectory: z.string().describe(`At most ${FOLDERS_MAX} folders, each of at most ${NAME_LENGTH_MAX} characters.`),
};
/** The number of a piece. */
export const pieceNoInput = z
  .int()
  .min(0)
  .max(PIECES_MAX - 1);

/** The path of a file. Throws ValidationError on `name` or `subdirectory`. */
export function placeOf(given: { name: string; subdirectory?: string | null | undefined }) {
  const name = fileName(given.name);
  const folders = (given.subdirectory ?? '').split('/').filter((part) => part !== '');
  if (folders.length > FOLDERS_MAX)
    throw wrongPath('subdirectory', `The subdirectory may be ${FOLDERS_MAX} folders deep.`);
  for (const folder of folders) {
    const fault = faultIn(folder);
    if (fault) throw wrongPath('subdirectory', `The subdirectory ${fault}.`);
  }
  return { name, path: [...folders, name].join('/') };
}

/** Browsers and scripts send whole paths: the last part is the name. */
function fileName(given: string): string {
  const name = given.split(/[\\/]/).at(-1)?.trim() ?? '';
  if (name === '') throw wrongPath('name', 'The file needs a name.');
  const fault = faultIn(name);
  if (fault) throw wrongPath('name', `The file's name ${fault}.`);
  return name;
}

function faultIn(part: string): string | undefined {
  if (part.length > NAME_LENGTH_MAX) return `may have ${NAME_LENGTH_MAX} characters`;
  if (/^\.+$/.test(part)) return 'must not be made of dots';
  // Invisible characters, those that change the reading direction, and those with a meaning in file systems.
  return /[\p{C}\p{Zl}\p{Zp}\\/:*?"<>|%]/u.test(part) ? 'has a character that names of files do not have' : undefined;
}
