/**
 * The bytes of a message while it is put together, one message at a time: static parts are copied, values written
 * between them, where the finished message will lie. No string of the whole message is made.
 */

/** Several messages share one piece of memory, whose making costs more than its bytes. */
const PIECE_BYTES = 65_536;
/** Small enough that one message that stays for long does not hold much beside itself. */
const SHARING_BYTES_MAX = PIECE_BYTES / 4;
/** A UTF-16 unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3;

export class MessageBytes {
  #memory = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  /** Where the next byte is written in what `room` answers. */
  get end(): number {
    return this.#end;
  }

  /** Forgets what was written of a message that could not be finished. */
  clear(): void {
    this.#end = this.#start;
  }

  add(bytes: Uint8Array): void {
    const memory = this.room(bytes.length);
    memory.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** As UTF-8. */
  addText(text: string): void {
    const memory = this.room(text.length * BYTES_PER_UNIT_MAX);
    this.#end += memory.write(text, this.#end);
  }

  /** Memory with room for `count` bytes at `end`; whoever writes there tells by `wrote` where they end. */
  room(count: number): Buffer {
    if (this.#end + count > this.#memory.length) this.#move(count);
    return this.#memory;
  }

  wrote(end: number): void {
    this.#end = end;
  }

  /** The message, with `tail` behind it. A small one stays where it is; large ones take their copy along. */
  take(tail?: Uint8Array): Buffer {
    const message = this.#memory.subarray(this.#start, this.#end);
    const isSmall = message.length <= SHARING_BYTES_MAX;
    if (isSmall && tail === undefined && this.#memory.length === PIECE_BYTES) {
      this.#start = this.#end;
      return message;
    }
    const copy = Buffer.concat(tail === undefined ? [message] : [message, tail]);
    if (isSmall && this.#memory.length > PIECE_BYTES) this.#memory = Buffer.alloc(0);
    this.#end = this.#start = Math.min(this.#start, this.#memory.length);
    return copy;
  }

  /** Goes on in another piece of memory. */
  #move(count: number): void {
    const needed = this.#end - this.#start + count;
    const memory = Buffer.allocUnsafeSlow(needed > PIECE_BYTES ? 2 * needed : PIECE_BYTES);
    this.#memory.copy(memory, 0, this.#start, this.#end);
    this.#memory = memory;
    this.#end -= this.#start;
    this.#start = 0;
  }
}
