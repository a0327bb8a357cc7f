/**
 * Memory for messages, used again and again. A process that sends makes thousands of copies of some kilobytes a second;
 * were each of them fresh memory, the garbage collector would look through the whole heap again every second.
 */

/** Of few sizes, so that one fits many messages; larger ones are rare, and fresh memory each. */
const BLOCK_BYTES_MIN = 4_096;
const BLOCK_BYTES_MAX = 262_144;
/** What is kept of each size for those to come. */
const KEPT_BYTES_MAX = 8_388_608;

/** What is not in somebody's hands, or was given back already, is not taken. */
class Block extends ArrayBuffer {
  isLent = true;
}

const free = new Map<number, Block[]>();

/** Memory with space for `count` bytes at least; its content is undefined. */
export function takeBlock(count: number): Buffer {
  if (count > BLOCK_BYTES_MAX) return Buffer.allocUnsafeSlow(count);
  const size = blockSize(count);
  const block = free.get(size)?.pop() ?? new Block(size);
  block.isLent = true;
  return Buffer.from(block);
}

/**
 * Lets the next one use the memory of these bytes; who gives it back is the last who reads them. Bytes that did not come
 * from `takeBlock` are left alone, and what nobody gives back is garbage like all else.
 */
export function giveBack({ buffer }: Uint8Array): void {
  if (!(buffer instanceof Block) || !buffer.isLent) return;
  buffer.isLent = false;
  const size = buffer.byteLength;
  const blocks = free.get(size);
  if (!blocks) free.set(size, [buffer]);
  else if (blocks.length * size < KEPT_BYTES_MAX) blocks.push(buffer);
}

/** A power of two, or three quarters of one: at most a third of a block is empty. */
function blockSize(count: number): number {
  if (count <= BLOCK_BYTES_MIN) return BLOCK_BYTES_MIN;
  const power = 2 ** (32 - Math.clz32(count - 1));
  return count <= 0.75 * power ? 0.75 * power : power;
}
