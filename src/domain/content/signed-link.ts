/** A tracked link of a compiled message: the segment that stands in its address's place. */
import { escapeHtml } from '../../lib/html.ts';
import { cleanText } from './escape.ts';
import { addressSlot, fillText, type FillScope, type Segment, type Slot } from './fill-scope.ts';
import type { MessageRecipient, TrackedLink } from './message.ts';

/** Characters that no kind of text escapes. */
const NEEDS_NO_ESCAPE = /^[!#-%(-;=?-~]*$/;

/** The address of a link for one recipient after the other: signed once per recipient, however often it is in the message. */
export class SignedLink {
  /** The target if it is the same for everybody; undefined otherwise. */
  readonly target: TrackedLink | undefined;
  readonly inHtml: Slot;
  readonly inPlain: Slot;
  readonly #no: number;
  readonly #url: readonly Segment[];
  #recipient: MessageRecipient | undefined;
  #address = '';
  #needsNoEscape = false;

  constructor(no: number, url: readonly Segment[]) {
    this.#no = no;
    this.#url = url;
    this.target = url.every((segment) => typeof segment === 'string') ? { no, url: url.join('') } : undefined;
    this.inHtml = this.#slot(escapeHtml);
    this.inPlain = this.#slot(cleanText);
  }

  #slot(escape: (text: string) => string): Slot {
    if (this.target) {
      const { no, url } = this.target;
      return addressSlot({ kind: 'click', no, url }, escape, ({ recipient }) => recipient.links.click(no, url));
    }
    return (scope) => {
      const address = this.#addressFor(scope);
      return this.#needsNoEscape ? address : escape(address);
    };
  }

  #addressFor(scope: FillScope): string {
    const { recipient } = scope;
    if (recipient !== this.#recipient) {
      this.#address = recipient.links.click(this.#no, fillText(this.#url, scope));
      this.#needsNoEscape = NEEDS_NO_ESCAPE.test(this.#address);
      this.#recipient = recipient;
    }
    return this.#address;
  }
}
