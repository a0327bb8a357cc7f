/** One history of a run: everything that was done and seen, in order, as JSON lines. The judge reads nothing else. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';

/** States of the ledger's rows, and what the product shows for them, at one instant. */
export interface Snapshot {
  readonly kind: 'snapshot';
  readonly status: string;
  /** Rows of the ledger by state. */
  readonly rows: Readonly<Record<string, number>>;
  /** The counters that the product shows; null before the first slice is planned. */
  readonly counters: Readonly<Record<string, number>> | null;
}

/** One recipient's row when all is over. */
export interface FinalRow {
  readonly kind: 'row';
  readonly email: string;
  readonly state: string;
  readonly ambiguousCount: number;
  readonly attempts: number;
}

export type HistoryEvent =
  | {
      readonly kind: 'plan';
      readonly seed: number;
      readonly policy: 'park' | 'retry';
      readonly recipients: number;
      /** Messages that one sending process may have in flight. */
      readonly inFlightMax: number;
      readonly scenario: string;
    }
  | { readonly kind: 'started' | 'killed' | 'died'; readonly what: string }
  | { readonly kind: 'fault'; readonly what: string }
  /** The receiver took a message: it says so here before it tells the sender. */
  | { readonly kind: 'accepted'; readonly to: string; readonly messageId: string }
  /** After a kill: the first message that arrived since. */
  | { readonly kind: 'resumed'; readonly afterMs: number; readonly since: string }
  /** The product answered a write with success. */
  | { readonly kind: 'acknowledged'; readonly what: 'subscriber' | 'click' | 'open'; readonly id: string }
  /** The product answered something that no client should see. */
  | { readonly kind: 'wrong-answer'; readonly what: string }
  | Snapshot
  | FinalRow
  /** What of the acknowledged writes is there in the end. */
  | { readonly kind: 'found'; readonly what: 'subscriber' | 'click' | 'open'; readonly count: number }
  | { readonly kind: 'ended'; readonly status: string };

export class History {
  readonly events: HistoryEvent[] = [];
  readonly #file: WriteStream | undefined;

  constructor(file?: string) {
    this.#file = file === undefined ? undefined : createWriteStream(file);
  }

  write(event: HistoryEvent): void {
    this.events.push(event);
    this.#file?.write(`${JSON.stringify({ at: new Date().toISOString(), ...event })}\n`);
  }

  async close(): Promise<void> {
    if (!this.#file) return;
    this.#file.end();
    await once(this.#file, 'finish');
  }
}
