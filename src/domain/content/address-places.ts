/**
 * The merge tags and Liquid in an address. A value at its beginning decides where it leads, so it is treated as a whole address
 * and its scheme is checked; a later value is a part, and is percent-encoded.
 */
import { MARK_PATTERN, piecesIn, type Piece } from './template-marks.ts';

export interface AddressPlace {
  readonly piece: Piece;
  /** Only space, and Liquid without output, is before it. */
  readonly isFirst: boolean;
}

/** Blocks of which one branch is written, once. */
const CHOICE = /^(?:if|unless|case)$/;
const NEXT_BRANCH = /^(?:else|elsif|when)$/;
const END_OF_CHOICE = /^end(?:if|unless|case)$/;
const WRITES_NOTHING = /^assign$/;

interface OpenChoice {
  readonly isFirst: boolean;
  /** A finished branch writes something. */
  isFilled: boolean;
}

/** The pieces of a marked address, in order. */
export function placesInAddress(text: string, pieces: readonly Piece[]): AddressPlace[] {
  const open: OpenChoice[] = [];
  let isFirst = true;
  let from = 0;
  return piecesIn(text, pieces).map(({ piece, at }) => {
    isFirst &&= text.slice(from, at).replace(MARK_PATTERN, '').trim() === '';
    from = at;
    const place = { piece, isFirst };
    isFirst = isFirstBehind(piece, isFirst, open);
    return place;
  });
}

function isFirstBehind(piece: Piece, isFirst: boolean, open: OpenChoice[]): boolean {
  const tag = piece.kind === 'control' ? (/\w+/.exec(piece.source)?.[0] ?? '') : '';
  if (WRITES_NOTHING.test(tag)) return isFirst;
  if (CHOICE.test(tag)) {
    open.push({ isFirst, isFilled: false });
    return isFirst;
  }
  const choice = NEXT_BRANCH.test(tag) || END_OF_CHOICE.test(tag) ? open.at(-1) : undefined;
  if (!choice) return false;
  choice.isFilled ||= !isFirst;
  if (NEXT_BRANCH.test(tag)) return choice.isFirst;
  open.pop();
  return !choice.isFilled;
}
