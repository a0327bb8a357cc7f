/**
 * How the messages of a campaign end, as this process has seen it; the consequences are decided in
 * sending/replies/judge-reply.ts.
 *
 * Refusals of what is the same for everybody: a campaign's sender ("not owned by user", "not authorized to send from this
 * domain"), or its size. They concern this campaign only, so the server stays in use. One recipient's host may say the same
 * of its own accord; the outcomes of earlier recipients show which it is.
 *
 * Bounce spikes: a server that refuses one recipient after the other as unknown. Either it is broken and
 * does so for everybody, or the list is bad; the campaign pauses before all of it is failed and suppressed.
 */
import type { Limits } from '../../limits.ts';
import type { BounceSpike, CampaignWitness } from '../../sending/replies/judge-reply.ts';

/** Nobody was accepted yet, and so many were refused for it. */
const FIRST_REFUSALS_MAX = 3;
/** So many first tries in a row, after others were accepted. */
const REFUSALS_IN_A_ROW_MAX = 10;

export class RefusalCounts implements CampaignWitness {
  readonly #rule: Limits['bouncePause'];
  /** The campaign was resumed after a bounce spike: no number is too high. */
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
    // A repeated recipient was refused before while others were not.
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
