/** Sends an uploaded file on in pieces while it arrives: one piece is sent while the next one is read. */

/** The size limit of one piece (the schema says 1 MiB). */
export const PIECE_BYTES = 1024 * 1024;

/** Calls `send` with one piece after another; a piece stays unchanged until `send` has ended. */
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
    // Awaited before the next one; until then a failure must count as handled.
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
