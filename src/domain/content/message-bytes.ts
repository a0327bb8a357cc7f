/**
 * The bytes of a copy while it is composed, one copy at a time: static parts are copied and values written between them, directly
 * into the memory of the finished message. No string of the whole message is made.
 */
import { giveBack, takeBlock } from '../../lib/blocks.ts';

/** A UTF-16 unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3;
const NOTHING = Buffer.alloc(0);

export class MessageBytes {
  #memory: Buffer = NOTHING;
  #end = 0;
  /** Copies of one message have nearly the same size. */
  #lastLength = 0;

  /** Where the next byte is written in the memory that `reserve` returns. */
  get end(): number {
    return this.#end;
  }

  /** Drops the bytes of a message that could not be finished. */
  clear(): void {
    this.#end = 0;
  }

  add(bytes: Uint8Array): void {
    const memory = this.reserve(bytes.length);
    memory.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** As UTF-8. */
  addText(text: string): void {
    const memory = this.reserve(text.length * BYTES_PER_UNIT_MAX);
    this.#end += memory.write(text, this.#end);
  }

  /** Memory with space for `count` bytes at `end`; after writing there, call `wrote` with the new end. */
  reserve(count: number): Buffer {
    if (this.#end + count > this.#memory.length) this.#grow(count);
    return this.#memory;
  }

  wrote(end: number): void {
    this.#end = end;
  }

  /** The message, followed by `tail`, in memory of its own: `giveBack` frees it. */
  take(tail: Uint8Array = NOTHING): Buffer {
    this.#lastLength = this.#end;
    if (tail.length > 0) this.#move(this.#end + tail.length);
    const memory = this.#memory;
    memory.set(tail, this.#end);
    const message = memory.subarray(0, this.#end + tail.length);
    this.#memory = NOTHING;
    this.#end = 0;
    return message;
  }

  #grow(count: number): void {
    this.#move(this.#memory === NOTHING ? Math.max(count, this.#lastLength) : 2 * (this.#end + count));
  }

  /** Continues in another piece of memory. */
  #move(length: number): void {
    const memory = takeBlock(length);
    this.#memory.copy(memory, 0, 0, this.#end);
    giveBack(this.#memory);
    this.#memory = memory;
  }
}
