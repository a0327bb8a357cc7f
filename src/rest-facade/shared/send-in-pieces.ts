/** Sends an uploaded file on in pieces, as it arrives: one piece is on its way while the next one is read. */

/** What one piece may have (the schema says 1 MiB). */
export const PIECE_BYTES = 1024 * 1024;

/** Calls `send` with one piece after another; a piece is as it is until `send` has ended. */
export async function sendInPieces(
  content: AsyncIterable<unknown>,
  send: (piece: Buffer, no: number) => Promise<unknown>,
): Promise<void> {
  let [piece, other] = [Buffer.allocUnsafe(PIECE_BYTES), Buffer.allocUnsafe(PIECE_BYTES)];
  let filled = 0;
  let no = 0;
  let sending: Promise<unknown> = Promise.resolve();
  const flush = async (): Promise<void> => {
    await sending;
    sending = send(piece.subarray(0, filled), no++);
    // It is awaited before the next one; until then its failure is not unhandled.
    sending.catch(() => undefined);
    [piece, other] = [other, piece];
    filled = 0;
  };
  for await (const chunk of content) {
    if (!Buffer.isBuffer(chunk)) continue;
    for (let taken = 0; taken < chunk.length;) {
      const copied = chunk.copy(piece, filled, taken);
      taken += copied;
      filled += copied;
      if (filled === PIECE_BYTES) await flush();
    }
  }
  if (filled > 0) await flush();
  await sending;
}
