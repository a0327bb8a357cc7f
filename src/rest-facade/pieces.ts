/** Downloads that are made page by page: the next page is asked for while the one before is on its way. */

export interface Piece {
  readonly text: string;
  /** Where the next one begins; null: this is the last. */
  readonly cursor: string | null;
}

/** The texts of all pages, `first` among them; `next` reads the one at a cursor. Holds two at most. */
export async function* textsOf(first: Piece, next: (cursor: string) => Promise<Piece>): AsyncGenerator<string> {
  let piece = first;
  for (;;) {
    const coming = piece.cursor === null ? undefined : next(piece.cursor);
    // It is awaited below; until then its failure is not unhandled.
    coming?.catch(() => undefined);
    let isTaken = false;
    try {
      if (piece.text !== '') yield piece.text;
      isTaken = true;
    } finally {
      // The client is gone: when this has ended, no page may still be read.
      if (!isTaken) await coming?.catch(() => undefined);
    }
    if (!coming) return;
    piece = await coming;
  }
}

/** One JSON array of all lines of all pages. */
export async function* jsonArrayOf(pages: AsyncIterable<string>): AsyncGenerator<string> {
  let before = '[';
  for await (const lines of pages) {
    yield before + lines.replaceAll('\n', ',\n');
    before = ',\n';
  }
  yield before === '[' ? '[]' : ']';
}
