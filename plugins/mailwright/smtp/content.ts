/** Puts a message's bytes into the form in which DATA (dot-stuffed, final dot) or BDAT (counted) sends them. */

/** A piece of what is written to the socket; strings are ASCII or UTF-8 commands. */
export type Piece = string | Uint8Array;

const CR = 13;
const LF = 10;
const DOT = 46;
const LF_DOT = Buffer.from('\n.');
const STUFFING = '.';

/** The pieces of a DATA transfer, final dot included. Content without a dot at a line's start is not copied. */
export function dataPieces(content: Uint8Array): Piece[] {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const pieces: Piece[] = bytes[0] === DOT ? [STUFFING] : [];
  let from = 0;
  for (let at = bytes.indexOf(LF_DOT); at >= 0; at = bytes.indexOf(LF_DOT, at + 1)) {
    pieces.push(bytes.subarray(from, at + 1), STUFFING);
    from = at + 1;
  }
  pieces.push(bytes.subarray(from), endsWithLineEnd(bytes) ? '.\r\n' : '\r\n.\r\n');
  return pieces;
}

/** The pieces of a message sent as one last chunk (RFC 3030). */
export function chunkPieces(content: Uint8Array): Piece[] {
  if (endsWithLineEnd(content)) return [`BDAT ${content.byteLength} LAST\r\n`, content];
  return [`BDAT ${content.byteLength + 2} LAST\r\n`, content, '\r\n'];
}

function endsWithLineEnd(bytes: Uint8Array): boolean {
  return bytes.byteLength >= 2 && bytes.at(-1) === LF && bytes.at(-2) === CR;
}
