/**
 * Recognises bodies in tiny chunks (RFC 9112 7.1). Each chunk costs the parser some microseconds and us a Buffer, and one read of
 * a socket contains up to 11,000 chunks of one byte: 50 such senders blocked the process for seconds and took 700 MB. Programs
 * that stream line by line use larger chunks. Framing counts with its extensions.
 */
import type { IncomingMessage } from 'node:http';

/** Short bodies may have any chunks: this is 800 chunks of one byte. */
const FRAME_BYTES_FREE = 4_096;
/** The largest share of framing beyond those. A chunk of 16 bytes has 6 bytes of framing. */
const FRAME_SHARE_MAX = 0.4;

/** Counts the content of this request's body; the result says how much the parser has found so far. */
export function countContent(req: IncomingMessage): () => number {
  const push = req.push.bind(req);
  let bytes = 0;
  req.push = (chunk: unknown, encoding) => {
    if (Buffer.isBuffer(chunk)) bytes += chunk.length;
    return push(chunk, encoding);
  };
  return () => bytes;
}

/** Whether a chunked body of so many bytes, framing included, has too little content. */
export function isTinyChunks(bodyBytes: number, contentBytes: number): boolean {
  const frameBytes = bodyBytes - contentBytes;
  return frameBytes > FRAME_BYTES_FREE && frameBytes > contentBytes * FRAME_SHARE_MAX;
}
