/** Downloads that are made page by page: the next page is read while the current one is sent. */

export interface Piece {
  readonly text: string;
  /** Where the next one begins; null: this is the last. */
  readonly cursor: string | null;
}

/** The texts of all pages, beginning with `first`; `next` reads the page at a cursor. Holds two at most. */
export async function* textsOf(first: Piece, next: (cursor: string) => Promise<Piece>): AsyncGenerator<string> {
  let piece = first;
  for (;;) {
    const coming = piece.cursor === null ? undefined : next(piece.cursor);
    // Awaited below; until then a failure must count as handled.
    coming?.catch(() => undefined);
    let isTaken = false;
    try {
      if (piece.text !== '') yield piece.text;
      isTaken = true;
    } finally {
      // The client is gone: wait until no page is being read any more.
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
