/** Makes a folder of the program's own, with a sentence that helps when it cannot be made. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from './errors.ts';

/**
 * Makes the folder and those above it that are missing. One at a time: asked to make several at once, Node never
 * comes back from places such as /proc. Throws with what to do.
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

/** What the program keeps is nobody else's. */
const OWNER_ONLY = 0o700;

/** Another process that starts at the same moment may have made it just now. */
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
