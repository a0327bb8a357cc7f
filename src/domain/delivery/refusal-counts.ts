/**
 * How the messages of a campaign end, as this process has seen it; what follows is the judge's (sending/replies/judge-reply.ts).
 *
 * Refusals of what is the same for everybody: a campaign's sender ("not owned by user", "not authorized to send from this
 * domain"), or its size. They are met by this campaign only, so the server stays in use. One recipient's host may say the same
 * of its own accord; what everybody before it met tells them apart.
 *
 * Bounce spikes: a server that says of one recipient after the other that nobody is there. Either it is broken and says so of
 * everybody, or the list was never a list; the campaign pauses before all of it is failed and suppressed.
 */
import type { Limits } from '../limits.ts';
import type { BounceSpike, CampaignWitness } from '../sending/replies/judge-reply.ts';

/** Nobody was written to yet, and so many were refused for it. */
const FIRST_REFUSALS_MAX = 3;
/** So many new ones in a row, after others were taken. */
const REFUSALS_IN_A_ROW_MAX = 10;

export class RefusalCounts implements CampaignWitness {
  readonly #rule: Limits['bouncePause'];
  /** Somebody resumed the campaign after a bounce spike: none is too many. */
  believesBounces = false;
  #hasTaken = false;
  #inARow = 0;
  #outcomes = 0;
  #bounces: { readonly no: number; readonly at: number }[] = [];

  constructor(rule: Limits['bouncePause']) {
    this.#rule = rule;
  }

  taken(): void {
    this.#hasTaken = true;
    this.#inARow = 0;
    this.#outcomes += 1;
  }

  refused(attempts: number): boolean {
    // Whoever comes again was refused while others were not.
    if (attempts === 0 || !this.#hasTaken) this.#inARow += 1;
    return this.#inARow >= (this.#hasTaken ? REFUSALS_IN_A_ROW_MAX : FIRST_REFUSALS_MAX);
  }

  bounced(isMailboxGone: boolean): BounceSpike | undefined {
    const { percent, recipients } = this.#rule;
    this.#outcomes += 1;
    if (!isMailboxGone || percent === 0 || this.believesBounces) return undefined;
    this.#bounces.push({ no: this.#outcomes, at: Date.now() });
    const outside = this.#bounces.findIndex(({ no }) => no > this.#outcomes - recipients);
    this.#bounces.splice(0, outside);
    const [first] = this.#bounces;
    const isTooMany = this.#outcomes >= recipients && this.#bounces.length >= (recipients * percent) / 100;
    return first && isTooMany
      ? { refused: this.#bounces.length, of: recipients, since: new Date(first.at) }
      : undefined;
  }
}
