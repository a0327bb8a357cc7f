/** Reads so many bytes after the other from a stream, and counts them. */

export class ByteStream {
  readonly #source: AsyncIterator<unknown>;
  readonly #count: (bytes: number) => void;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #bytes = 0;

  /** `count` is called with all bytes so far, before they are kept; what it throws ends the reading. */
  constructor(source: AsyncIterable<unknown>, count: (bytes: number) => void) {
    this.#source = source[Symbol.asyncIterator]();
    this.#count = count;
  }

  /** The next `size` bytes; undefined: the stream ends before. */
  async read(size: number): Promise<Buffer | undefined> {
    while (this.#waitingBytes < size) if (!(await this.#more())) return undefined;
    const all = this.#waiting.length === 1 ? (this.#waiting[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#waiting);
    this.#waiting = [all.subarray(size)];
    this.#waitingBytes -= size;
    return all.subarray(0, size);
  }

  /** Whether at most so many bytes follow, all of them 0. Reads to the end. */
  async endsWithZeros(bytesMax: number): Promise<boolean> {
    let left = bytesMax;
    do {
      left -= this.#waitingBytes;
      if (left < 0 || this.#waiting.some((chunk) => chunk.some((byte) => byte !== 0))) return false;
      this.#waiting = [];
      this.#waitingBytes = 0;
    } while (await this.#more());
    return true;
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (done) return false;
    if (!Buffer.isBuffer(value)) return true;
    this.#bytes += value.length;
    this.#count(this.#bytes);
    this.#waiting.push(value);
    this.#waitingBytes += value.length;
    return true;
  }
}
