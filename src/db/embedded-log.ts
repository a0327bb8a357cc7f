/** What the embedded database writes on its standard error: one file beside its data. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from '../lib/errors.ts';

export interface ServerLog {
  readonly file: string;
  readonly fd: number;
  /** How much was in it when it was opened. */
  readonly size: number;
}

/** Enough for all that a start writes. */
const WORDS_BYTES_MAX = 65_536;

/** Opens it to write at its end. Throws with what to do when this user may not. */
export function openLog(folder: string): ServerLog {
  const file = path.join(folder, 'postgres.log');
  try {
    const fd = openSync(file, 'a');
    return { file, fd, size: fstatSync(fd).size };
  } catch (error) {
    throw new Error(
      `The folder ${folder} cannot be written to: ${messageOf(error)}. ` +
        `Make it writable for this user, or set DATA_DIR to another folder.`,
      { cause: error },
    );
  }
}

/** Why the server ended, in its own words, if it said so since the log was opened. */
export function lastWordIn({ file, size }: ServerLog): string | undefined {
  const fd = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(WORDS_BYTES_MAX);
    const said = bytes.toString('utf8', 0, readSync(fd, bytes, 0, WORDS_BYTES_MAX, size));
    return said.match(/(?<=(?:FATAL|PANIC): {2}).*/g)?.at(-1);
  } finally {
    closeSync(fd);
  }
}
