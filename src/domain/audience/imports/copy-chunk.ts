/** One chunk of a file in PostgreSQL's binary format for COPY, without a copy of its bytes. */
import type { ImportKey } from './list-import.ts';

export interface NewChunk {
  readonly no: number;
  readonly bytes: Uint8Array;
  readonly isAscii: boolean;
}

export const COPY_CHUNK = 'COPY import_chunk (customer_id, import_id, no, is_ascii, bytes) FROM STDIN (FORMAT binary)';

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const COLUMNS = 5;
const HEAD_BYTES = 64;
const TRAILER = Buffer.from([0xff, 0xff]);

/** The stream of COPY_CHUNK: a header, one row, the trailer. */
export function* copyChunk({ customerId, id }: ImportKey, { no, bytes, isAscii }: NewChunk): Generator<Uint8Array> {
  const head = Buffer.alloc(HEAD_BYTES);
  // Behind the signature: no flags, no header extension.
  let at = SIGNATURE.copy(head) + 8;
  at = head.writeInt16BE(COLUMNS, at);
  at = head.writeBigInt64BE(customerId, head.writeInt32BE(8, at));
  at = head.writeBigInt64BE(id, head.writeInt32BE(8, at));
  at = head.writeInt32BE(no, head.writeInt32BE(4, at));
  at = head.writeInt8(isAscii ? 1 : 0, head.writeInt32BE(1, at));
  at = head.writeInt32BE(bytes.length, at);
  yield head.subarray(0, at);
  yield bytes;
  yield TRAILER;
}
