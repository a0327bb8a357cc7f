/**
 * Whether the database takes writes, as this process has seen it: a statement was refused because the disk is full (SQLSTATE
 * 53100) or because the server only reads (25006), or the disk of the embedded database is nearly full; and nothing
 * has shown since that it takes them again. None of this can be written to the database.
 */
const TROUBLES: Readonly<Record<string, WriteTrouble>> = { '53100': 'full', '25006': 'read-only' };

export type WriteTrouble = 'full' | 'read-only';

let refused: WriteTrouble | undefined;
let isLow = false;

/** Called with what a statement threw. */
export function noteRefusedWrite(error: unknown): void {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    refused = TROUBLES[error.code] ?? refused;
}

/** A statement found no space, and none has found any since. */
export function isDiskFull(): boolean {
  return refused === 'full';
}

/** Why the database takes no writes; undefined: it does, as far as is known. */
export function writeTrouble(): WriteTrouble | undefined {
  return refused ?? (isLow ? 'full' : undefined);
}

/** Whether so little space is left that sending waits. */
export function noteLowDisk(isLowNow: boolean): void {
  isLow = isLowNow;
}

/** A write went through. */
export function noteDiskSpace(): void {
  refused = undefined;
}
