/** The tracked links of one message: numbers them, and makes the segment that stands in an address's place. */
import { ValidationError } from '../../lib/errors.ts';
import { escapeHtml } from '../../lib/html.ts';
import { httpAddress } from '../../lib/http-address.ts';
import { cleanText } from './escape.ts';
import { addressSlot, fillText, mergeStatic, type FillScope, type Segment, type Slot } from './fill-scope.ts';
import { tagSegment, type TagValues } from './merge-tags.ts';
import { LINKS_MAX, type MessageRecipient, type TrackedLink } from './message.ts';
import {
  addPiece,
  MARK_CLOSE,
  MARK_PATTERN,
  piecesIn,
  REGION_CLOSE,
  REGION_OPEN,
  unmark,
  usesLiquid,
  type MarkedText,
  type Piece,
} from './template-marks.ts';
import { asciiAddress, cleanAddress } from './web-address.ts';

const TRACKABLE = /^https?:\/\/[^/?#]/i;
/** Nothing in it that any text would have escaped. */
const HARMLESS = /^[!#-%(-;=?-~]*$/;

export class LinkBook {
  readonly links: TrackedLink[] = [];
  /** Addresses that are none for anybody: they stay as they were written. */
  readonly broken = new Set<string>();
  readonly #numbers = new Map<string, number>();
  readonly #signed: (SignedLink | undefined)[] = [];
  readonly #tags: TagValues;

  constructor(tags: TagValues) {
    this.#tags = tags;
  }

  /** Those that lead everybody to the same place. */
  get targets(): readonly TrackedLink[] {
    return this.#signed.flatMap((link) => link?.target ?? []);
  }

  /**
   * What to put in the place of `address` (marked, entities decoded) so that it is tracked; undefined for what is not:
   * mail, telephone, anchors, and addresses that begin with a merge tag.
   */
  track(address: string, marked: MarkedText): string | undefined {
    const url = asciiAddress(cleanAddress(address));
    if (!TRACKABLE.test(url)) return undefined;
    if (httpAddress(url) === '' && piecesIn(url, marked.pieces).length === 0) {
      this.broken.add(url);
      return undefined;
    }
    const no = this.#number(unmark(url, marked.pieces), marked.part);
    for (const { piece } of piecesIn(url, marked.pieces)) {
      if (piece.kind !== 'insert') piece.escape = 'urlPart';
    }
    if (usesLiquid(url, marked.pieces)) return `${REGION_OPEN}${no}${MARK_CLOSE}${url}${REGION_CLOSE}`;
    const link = this.#signed[no] ?? new SignedLink(no, this.#addressSegments(url, marked.pieces));
    this.#signed[no] = link;
    const segment = marked.part === 'html' ? link.inHtml : link.inPlain;
    return addPiece(marked.pieces, { kind: 'insert', segment });
  }

  #number(url: string, part: string): number {
    const existing = this.#numbers.get(url);
    if (existing !== undefined) return existing;
    const no = this.links.length;
    if (no >= LINKS_MAX) throw new ValidationError({ [part]: [`A message may have at most ${LINKS_MAX} links.`] });
    this.#numbers.set(url, no);
    this.links.push({ no, url });
    return no;
  }

  #addressSegments(url: string, pieces: readonly Piece[]): Segment[] {
    const segments = url.split(MARK_PATTERN).map((part, index) => {
      const piece = index % 2 === 1 ? pieces[Number(part)] : undefined;
      if (index % 2 === 0) return part;
      return piece?.kind === 'tag' ? tagSegment(this.#tags, piece.name, 'urlPart') : '';
    });
    return mergeStatic(segments);
  }
}

/** A link's address for one recipient after the other: signed once for each, however often it stands in the message. */
class SignedLink {
  /** Where it leads everybody; undefined when that is each one's own. */
  readonly target: TrackedLink | undefined;
  readonly inHtml: Slot;
  readonly inPlain: Slot;
  readonly #no: number;
  readonly #url: readonly Segment[];
  #recipient: MessageRecipient | undefined;
  #address = '';
  #isHarmless = false;

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
      return this.#isHarmless ? address : escape(address);
    };
  }

  #addressFor(scope: FillScope): string {
    const { recipient } = scope;
    if (recipient !== this.#recipient) {
      this.#address = recipient.links.click(this.#no, fillText(this.#url, scope));
      this.#isHarmless = HARMLESS.test(this.#address);
      this.#recipient = recipient;
    }
    return this.#address;
  }
}
