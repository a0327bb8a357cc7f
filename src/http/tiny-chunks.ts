/**
 * Lets go of senders whose chunked body comes in tiny chunks (RFC 9112 7.1). Each chunk costs the parser some microseconds and us
 * a Buffer, and one read of a socket holds 11,000 chunks of one byte: 50 such senders held everybody for seconds and took
 * 700 MB. Programs that stream line by line send more than this.
 */
import type { IncomingMessage } from 'node:http';

/** Short bodies may come as they like. */
const CHUNKS_FREE = 250;
/** On average, beyond those. A line with an address alone has more. */
const CHUNK_BYTES_MIN = 16;

/** Calls `refuse` once, when the chunks of this request's body are too small; what comes after that is thrown away. */
export function watchChunks(req: IncomingMessage, refuse: () => void): void {
  if (req.headers['transfer-encoding'] === undefined) return;
  const push = req.push.bind(req);
  let chunks = 0;
  let bytes = 0;
  let isRefused = false;
  req.push = (chunk: unknown, encoding) => {
    if (isRefused) return false;
    if (Buffer.isBuffer(chunk)) {
      chunks += 1;
      bytes += chunk.length;
      isRefused = chunks > CHUNKS_FREE && bytes < chunks * CHUNK_BYTES_MIN;
      if (isRefused) {
        refuse();
        return false;
      }
    }
    return push(chunk, encoding);
  };
}
