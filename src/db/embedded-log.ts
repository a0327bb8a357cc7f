/** The log of the embedded database: one file beside its data, without values, readable by its owner only, limited in size. */
import { chmodSync, closeSync, copyFileSync, existsSync, fchmodSync, fstatSync, openSync, readSync } from 'node:fs';
import { rmSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from '../lib/errors.ts';

export interface ServerLog {
  readonly file: string;
  readonly fd: number;
  /** How much was in it when it was opened. */
  readonly size: number;
}

/**
 * Error texts of statements contain values that people entered, so none of them is written here: the program gets them and logs
 * them without values (client.ts). Starts, stops, crashes, recovery, checkpoints and refused connections are written, without the
 * statement that was running.
 */
export const LOG_SETTINGS = [
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_statement=none',
  'log_min_duration_statement=-1',
  'log_parameter_max_length=0',
  'log_parameter_max_length_on_error=0',
] as const;

/** Months of an ordinary server. With the file before, twice as much is on the disk. */
export const LOG_BYTES_MAX = 10 * 1_024 * 1_024;
/** Enough for all that a start writes. */
const WORDS_BYTES_MAX = 65_536;
const OWNER_ONLY = 0o600;

/** Opens the log to append. Throws a sentence with what to do when this user may not. */
export function openLog(folder: string): ServerLog {
  const file = logFile(folder);
  try {
    // Earlier versions wrote values of rows into this one.
    rmSync(path.join(folder, 'postgres.log'), { force: true });
    const fd = openSync(file, 'a', OWNER_ONLY);
    fchmodSync(fd, OWNER_ONLY);
    return { file, fd, size: fstatSync(fd).size };
  } catch (error) {
    throw new Error(
      `The folder ${folder} cannot be written to: ${messageOf(error)}. ` +
        `Make it writable for this user, or set DATA_DIR to another folder.`,
      { cause: error },
    );
  }
}

/** Moves the content to `server.log.1` when it is too large. The server has the file open and continues at the new end. */
export function rotateLog(folder: string): void {
  const file = logFile(folder);
  if (!existsSync(file) || statSync(file).size <= LOG_BYTES_MAX) return;
  const old = `${file}.1`;
  rmSync(old, { force: true });
  copyFileSync(file, old);
  chmodSync(old, OWNER_ONLY);
  truncateSync(file);
}

function logFile(folder: string): string {
  return path.join(folder, 'server.log');
}

/** Why the server ended, in its own words, if it wrote so since the log was opened. */
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
