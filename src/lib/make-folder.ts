/** Makes a folder for the program's files; if it cannot, the error says what to do. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from './errors.ts';

/**
 * Makes the folder and its missing parents, one at a time: with `recursive` Node never returns for places such as /proc. Throws a
 * sentence with what to do.
 */
export function makeFolder(folder: string): void {
  try {
    for (const missing of missingFolders(path.resolve(folder))) makeOne(missing);
    if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
  } catch (error) {
    throw new Error(
      `The folder ${folder} cannot be made: ${messageOf(error)}. ` +
        `Set DATA_DIR to a folder that this user may write to, for example DATA_DIR=$HOME/mailwright.`,
      { cause: error },
    );
  }
}

/** Only the owner may read the program's files. */
const OWNER_ONLY = 0o700;

/** Another process may have made it at the same moment. */
function makeOne(folder: string): void {
  try {
    mkdirSync(folder, { mode: OWNER_ONLY });
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

/** From the top down. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [...missingFolders(path.dirname(folder)), folder];
}
