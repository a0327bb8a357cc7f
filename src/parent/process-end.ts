/**
 * How a process ended that nobody had asked to stop. Whoever has started it tells the next process, and waits before it starts that one
 * if no plugin explains the end.
 */
import { takeNote, type EndNote } from '../lib/end-note.ts';

/** Environment variable with the file for the note. */
export const NOTE_FILE = 'MAILWRIGHT_NOTE_FILE';

export interface ProcessEnd {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Undefined: nothing explains it. */
  readonly note?: EndNote | undefined;
  /** Such as `code 1` or `SIGABRT`. */
  readonly by: string;
  /** In the database. */
  readonly isRecorded: boolean;
}

/** Ends in this time belong together. */
const TOGETHER_MS = 600_000;
const RESTART_MS_MIN = 250;
/** A process that cannot run is started again without end, with growing delays up to this. */
const RESTART_MS_MAX = 30_000;

/** The latest ends of a process. */
export class ProcessEnds {
  #ends: readonly ProcessEnd[] = [];

  add(end: ProcessEnd): void {
    this.#ends = [...this.recent(end.at), end];
  }

  recent(now = Date.now()): readonly ProcessEnd[] {
    return this.#ends.filter(({ at }) => now - at < TOGETHER_MS);
  }

  /** They are in the database. `isDealtWith`: a plugin was switched off because nothing explained them, and counting starts anew. */
  recorded({ isDealtWith }: { readonly isDealtWith: boolean }): void {
    this.#ends = isDealtWith ? [] : this.#ends.map((end) => ({ ...end, isRecorded: true }));
  }

  /** None when a plugin explains the last end: it is counted, and switched off soon. Else it doubles, so that a broken program does not spin. */
  restartDelayMs(): number {
    const last = this.#ends.at(-1)?.note;
    if (last && !isOwn(last)) return 0;
    const unexplained = this.#ends.filter(({ note }) => !note || isOwn(note)).length;
    return Math.min(RESTART_MS_MAX, RESTART_MS_MIN * 2 ** (unexplained - 1));
  }
}

/** The product's own plugins are never switched off. */
function isOwn({ plugin }: EndNote): boolean {
  return plugin.startsWith('mailwright/');
}

/** Reads the note that an ended process has left, and removes it. */
export function takeEnd(noteFile: string, by: { code: number | null; signal: NodeJS.Signals | null }): ProcessEnd {
  return { at: Date.now(), note: takeNote(noteFile), by: by.signal ?? `code ${by.code}`, isRecorded: false };
}
