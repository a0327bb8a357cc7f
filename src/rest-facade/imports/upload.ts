/** Sends an uploaded file on in pieces, as it arrives: never more than one piece is in memory. */
import type { Readable } from 'node:stream';

/** What one piece may have (the schema says 1 MiB). */
export const PIECE_BYTES = 1024 * 1024;

/** Calls `send` with one piece after another, the next being read only when the last was taken. */
export async function sendInPieces(
  content: Readable,
  send: (piece: Buffer, no: number) => Promise<unknown>,
): Promise<void> {
  let waiting: Buffer[] = [];
  let size = 0;
  let no = 0;
  const take = (bytes: number): Buffer => {
    const all = Buffer.concat(waiting);
    waiting = [all.subarray(bytes)];
    size -= bytes;
    return all.subarray(0, bytes);
  };
  // Left open on an early end: the connection still has to carry the answer.
  for await (const chunk of content.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    waiting.push(chunk);
    size += chunk.length;
    while (size >= PIECE_BYTES) await send(take(PIECE_BYTES), no++);
  }
  if (size > 0) await send(take(size), no);
}
