/**
 * A note in a file that says which plugin has ended a process, or is about to: the process writes it, and whoever has started the process
 * reads it afterwards, when nobody else can tell.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

export interface EndNote {
  /** `vendor/name`. */
  readonly plugin: string;
  /** What its code did, in a sentence. */
  readonly how: string;
}

const OWNER_ONLY = 0o600;

/** `isGuess`: a note that is there says more and stays. */
export function writeNote(file: string | undefined, note: EndNote, { isGuess = false } = {}): void {
  try {
    if (file !== undefined) writeFileSync(file, JSON.stringify(note), { mode: OWNER_ONLY, flag: isGuess ? 'wx' : 'w' });
  } catch {
    // One is there already; or the disk is full, and then nothing explains the end.
  }
}

/** Given `how`, the note is removed only when it still says this. */
export function removeNote(file: string | undefined, how?: string): void {
  if (file !== undefined && (how === undefined || readNote(file)?.how === how)) rmSync(file, { force: true });
}

/** Reads the note and removes it; undefined: there is none, or it was cut off. */
export function takeNote(file: string): EndNote | undefined {
  const note = readNote(file);
  if (note) rmSync(file, { force: true });
  return note;
}

function readNote(file: string): EndNote | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isNote(note) ? note : undefined;
  } catch {
    return undefined;
  }
}

function isNote(note: unknown): note is EndNote {
  return (
    typeof note === 'object' &&
    note !== null &&
    'plugin' in note &&
    typeof note.plugin === 'string' &&
    'how' in note &&
    typeof note.how === 'string'
  );
}
