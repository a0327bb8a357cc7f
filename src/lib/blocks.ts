/**
 * Memory for messages, used again and again. A process that sends makes thousands of messages of some kilobytes a second; with
 * fresh memory for each, the garbage collector would search the whole heap every second.
 */

/** Few sizes, so that one block fits many messages; larger messages are rare and get fresh memory. */
const BLOCK_BYTES_MIN = 4_096;
const BLOCK_BYTES_MAX = 262_144;
/** How much memory of each size is kept for later. */
const KEPT_BYTES_MAX = 8_388_608;

/** A block that is free already is not taken back again. */
class Block extends ArrayBuffer {
  isLent = true;
}

const free = new Map<number, Block[]>();

/** Memory of at least `count` bytes; its content is undefined. */
export function takeBlock(count: number): Buffer {
  if (count > BLOCK_BYTES_MAX) return Buffer.allocUnsafeSlow(count);
  const size = blockSize(count);
  const block = free.get(size)?.pop() ?? new Block(size);
  block.isLent = true;
  return Buffer.from(block);
}

/**
 * Frees the memory of these bytes for the next message; only the last reader may call it. Bytes that did not come from
 * `takeBlock` are ignored; blocks that are never freed are garbage-collected.
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
