/**
 * Whether the disk of the database is full, as this process has seen it: a statement said so (SQLSTATE 53100), and none
 * has shown since that there is room.
 */
const DISK_FULL = '53100';

let isFull = false;

/** Called with what a statement threw. */
export function noteDiskFull(error: unknown): void {
  if (error instanceof Error && 'code' in error && error.code === DISK_FULL) isFull = true;
}

export function isDiskFull(): boolean {
  return isFull;
}

export function noteRoom(): void {
  isFull = false;
}
