/**
 * Memory for messages, used again and again. A process that sends makes thousands of copies of some kilobytes a second;
 * were each of them fresh memory, the garbage collector would look through the whole heap again every second.
 */

/** Blocks are powers of two, so that one fits many messages; larger ones are rare, and fresh memory each. */
const BLOCK_BYTES_MIN = 4_096;
const BLOCK_BYTES_MAX = 262_144;
/** What is kept of each size for those to come. */
const KEPT_BYTES_MAX = 8_388_608;

const free = new Map<number, ArrayBuffer[]>();
/** Blocks in somebody's hands: what is not among them, or was given back already, is not taken. */
const lent = new WeakSet<ArrayBufferLike>();

/** Memory with room for `count` bytes at least; what stands in it is anything. */
export function takeBlock(count: number): Buffer {
  if (count > BLOCK_BYTES_MAX) return Buffer.allocUnsafeSlow(count);
  const size = blockSize(count);
  const block = free.get(size)?.pop() ?? new ArrayBuffer(size);
  lent.add(block);
  return Buffer.from(block);
}

/**
 * Lets the next one use the memory of these bytes; who gives it back is the last who reads them. Bytes that did not come
 * from `takeBlock` are left alone, and what nobody gives back is garbage like all else.
 */
export function giveBack({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || !lent.delete(buffer)) return;
  const size = buffer.byteLength;
  const blocks = free.get(size);
  if (!blocks) free.set(size, [buffer]);
  else if (blocks.length * size < KEPT_BYTES_MAX) blocks.push(buffer);
}

function blockSize(count: number): number {
  return count <= BLOCK_BYTES_MIN ? BLOCK_BYTES_MIN : 2 ** (32 - Math.clz32(count - 1));
}
