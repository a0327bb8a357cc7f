/**
 * An avalanche of hard bounces: a server that says of one recipient after the other that nobody is there. Either it is
 * broken and says so of everybody, or the list was never a list; the campaign pauses before all of it is failed and
 * suppressed. Each process looks at what it has sent itself.
 */
import type { SendingError } from '../../plugin-api/index.ts';
import { classifyReply } from '../sending/replies/classify-reply.ts';
import type { Dispatch } from './dispatch.ts';

/** The latest outcomes that are looked at. */
const WINDOW = 100;
/** A low limit is not met by the first few. */
const OUTCOMES_MIN = 50;
/** When nobody at all was taken, so many are enough. */
const FIRST_REFUSALS_MAX = 20;
const REPLY_LENGTH_MAX = 300;

export interface Avalanche {
  readonly message: string;
  /** When the first refusal of it came, by the clock of this process. */
  readonly since: Date;
}

export class HardRefusals {
  readonly #percentMax: number;
  #outcomes = 0;
  #latest: { readonly no: number; readonly at: number }[] = [];

  /** 0: it is never an avalanche. */
  constructor(percentMax: number) {
    this.#percentMax = percentMax;
  }

  taken(): void {
    this.#outcomes += 1;
  }

  /** Counts a final refusal; answers when it is one of too many. */
  refused({ message, code, enhancedStatus }: SendingError): Avalanche | undefined {
    this.#outcomes += 1;
    if (this.#percentMax === 0 || !classifyReply({ code, enhancedStatus, text: message }).isMailboxGone)
      return undefined;
    this.#latest.push({ no: this.#outcomes, at: Date.now() });
    this.#latest = this.#latest.filter(({ no }) => no > this.#outcomes - WINDOW);
    const [first] = this.#latest;
    return first && this.#isTooMany() ? { since: new Date(first.at), message: this.#sentence(message) } : undefined;
  }

  #isTooMany(): boolean {
    const refused = this.#latest.length;
    if (refused === this.#outcomes) return refused >= FIRST_REFUSALS_MAX;
    return this.#outcomes >= OUTCOMES_MIN && refused >= this.#percentMax;
  }

  #sentence(reply: string): string {
    const of = Math.min(this.#outcomes, WINDOW);
    const last = reply.slice(0, REPLY_LENGTH_MAX);
    return `The sending server says of ${this.#latest.length} of the latest ${of} recipients that nobody is there, the last time: "${last}".`;
  }
}

const refusals = new WeakMap<Dispatch, HardRefusals>();

/** Those of a campaign as it is being sent by this process. Once somebody has resumed it all the same, none is too many. */
export function hardRefusalsOf(dispatch: Dispatch, percentMax: number): HardRefusals {
  const known = refusals.get(dispatch) ?? new HardRefusals(dispatch.believesRefusals ? 0 : percentMax);
  refusals.set(dispatch, known);
  return known;
}
