/**
 * An avalanche of hard bounces: a server that says of one recipient after the other that nobody is there. Either it is
 * broken and says so of everybody, or the list was never a list; the campaign pauses before all of it is failed and
 * suppressed. Each process looks at what it has sent itself.
 */
import type { SendingError } from '../../plugin-api/index.ts';
import type { Limits } from '../limits.ts';
import { classifyReply } from '../sending/replies/classify-reply.ts';
import type { CampaignStop } from './campaign-stop.ts';

const REPLY_LENGTH_MAX = 300;

type Rule = Limits['bouncePause'];

export class HardRefusals {
  readonly #rule: Rule;
  /** Somebody resumed the campaign all the same: none is too many. */
  isOff = false;
  #outcomes = 0;
  #latest: { readonly no: number; readonly at: number }[] = [];

  constructor(rule: Rule) {
    this.#rule = rule;
  }

  taken(): void {
    this.#outcomes += 1;
  }

  /** Counts a final refusal; answers when it is one of too many. */
  refused({ message, code, enhancedStatus }: SendingError): CampaignStop | undefined {
    this.#outcomes += 1;
    if (this.isOff || this.#rule.percent === 0 || !classifyReply({ code, enhancedStatus, text: message }).isMailboxGone)
      return undefined;
    this.#latest.push({ no: this.#outcomes, at: Date.now() });
    const gone = this.#latest.findIndex(({ no }) => no > this.#outcomes - this.#rule.recipients);
    this.#latest.splice(0, gone);
    const [first] = this.#latest;
    if (!first || !this.#isTooMany()) return undefined;
    const reply = message.slice(0, REPLY_LENGTH_MAX);
    const params = { refused: this.#latest.length, of: this.#rule.recipients, reply };
    return { refusedSince: new Date(first.at), pauseFor: { code: 'bounce_spike', params } };
  }

  #isTooMany(): boolean {
    const { percent, recipients } = this.#rule;
    return this.#outcomes >= recipients && this.#latest.length >= (recipients * percent) / 100;
  }
}
