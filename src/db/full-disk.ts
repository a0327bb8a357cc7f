/**
 * Whether the database takes writes, as far as this process knows: a statement was refused because the disk is full (SQLSTATE
 * 53100) or the server is read-only (25006), or the embedded database's disk is nearly full. Other writes may still succeed, so
 * only a probe (probe-disk.ts) clears a refusal. None of this can be written to the database.
 */
const PROBLEMS: Readonly<Record<string, WriteProblem>> = { '53100': 'full', '25006': 'read-only' };

export type WriteProblem = 'full' | 'read-only';

let refused: WriteProblem | undefined;
let isLow = false;

/** Called with what a statement threw. */
export function recordRefusedWrite(error: unknown): void {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    refused = PROBLEMS[error.code] ?? refused;
}

/** A statement found no space, and no probe has found any since. */
export function isDiskFull(): boolean {
  return refused === 'full';
}

/** Why the database takes no writes; undefined: it does, as far as is known. */
export function writeProblem(): WriteProblem | undefined {
  return refused ?? (isLow ? 'full' : undefined);
}

/** Records whether the space left is so little that sending waits. */
export function recordLowDisk(isLowNow: boolean): void {
  isLow = isLowNow;
}

/** Records that a probe could write. */
export function recordDiskSpace(): void {
  refused = undefined;
}
