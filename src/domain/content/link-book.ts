/** The tracked links of one message: numbers them, and makes the text that replaces an address. */
import { ValidationError } from '../../lib/errors.ts';
import { httpAddress } from '../../lib/http-address.ts';
import { LINK_PLACES_MAX, LINKS_MAX, type TrackedLink } from './message.ts';
import type { PlannedSegment } from './message-plan.ts';
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

export class LinkBook {
  readonly links: TrackedLink[] = [];
  /** Addresses that are wrong for everybody: they stay as they are. */
  readonly broken = new Set<string>();
  readonly #numbers = new Map<string, number>();
  #places = 0;
  /** The address of each link by its number; undefined for those with Liquid in them. */
  readonly addresses: (readonly PlannedSegment[] | undefined)[] = [];

  /**
   * The replacement for `address` (marked, entities decoded) that tracks it; undefined for what is not tracked: mail, telephone,
   * anchors, and addresses that begin with a merge tag.
   */
  track(address: string, marked: MarkedText): string | undefined {
    const url = asciiAddress(cleanAddress(address));
    if (!TRACKABLE.test(url)) return undefined;
    if (httpAddress(url) === '' && piecesIn(url, marked.pieces).length === 0) {
      this.broken.add(url);
      return undefined;
    }
    this.#places += 1;
    if (this.#places > LINK_PLACES_MAX) throw tooManyLinks(marked.field, `links in ${LINK_PLACES_MAX} places`);
    const no = this.#number(unmark(url, marked.pieces), marked.field);
    for (const { piece } of piecesIn(url, marked.pieces)) {
      if (piece.kind !== 'insert') piece.escape = 'urlPart';
    }
    if (usesLiquid(url, marked.pieces)) return `${REGION_OPEN}${no}${MARK_CLOSE}${url}${REGION_CLOSE}`;
    this.addresses[no] ??= addressSegments(url, marked.pieces);
    const place = marked.part === 'html' ? 'html' : 'plain';
    return addPiece(marked.pieces, { kind: 'insert', segment: { kind: 'link', no, place } });
  }

  #number(url: string, field: string): number {
    const existing = this.#numbers.get(url);
    if (existing !== undefined) return existing;
    const no = this.links.length;
    if (no >= LINKS_MAX) throw tooManyLinks(field, `${LINKS_MAX} links`);
    this.#numbers.set(url, no);
    this.links.push({ no, url });
    return no;
  }
}

function tooManyLinks(field: string, most: string): ValidationError {
  return new ValidationError({ [field]: [`A message may have at most ${most}.`] });
}

function addressSegments(url: string, pieces: readonly Piece[]): PlannedSegment[] {
  return url.split(MARK_PATTERN).map((part, index) => {
    const piece = index % 2 === 1 ? pieces[Number(part)] : undefined;
    if (index % 2 === 0) return part;
    return piece?.kind === 'tag' ? { kind: 'tag', name: piece.name, escape: 'urlPart' } : '';
  });
}
