/**
 * What waits to be written on one connection, combined into one write: messages and commands are copied into memory that all
 * connections share. Copying into existing memory costs less than passing the system a list of pieces, or than new memory for
 * each write.
 */
import type { Transfer } from './content.ts';

/** The size of one write: enough to fill a socket's buffer; at most this much is between us and the kernel. */
const WRITE_BYTES_MAX = 262_144;
/** Larger content is written in parts, so that a part fits after the longest commands (a login's token). */
const PART_BYTES_MAX = 131_072;
/** UTF-8 has at most so many bytes per UTF-16 unit. */
const BYTES_PER_UNIT = 3;

interface Outgoing extends Transfer {
  /** Called just before the bytes go to the socket: from then on the server may have them. */
  readonly onWrite: (() => void) | undefined;
}

let shared: Buffer | undefined;

export class Outbox {
  #waiting: Outgoing[] = [];
  #byteLength = 0;

  /** How many bytes wait, roughly. */
  get byteLength(): number {
    return this.#byteLength;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add({ commands, content, tail }: Transfer, onWrite?: () => void): void {
    if (content === undefined || content.byteLength <= PART_BYTES_MAX)
      return this.#add({ commands, content, tail, onWrite });
    for (let from = 0; from < content.byteLength; from += PART_BYTES_MAX) {
      const part = { commands: from === 0 ? commands : '', content: content.subarray(from, from + PART_BYTES_MAX) };
      const isLast = from + PART_BYTES_MAX >= content.byteLength;
      this.#add(isLast ? { ...part, tail, onWrite } : { ...part, onWrite: undefined });
    }
  }

  /** The bytes of the next write. They are valid until the next call, unless the caller keeps them (`keep`). */
  take(): Buffer {
    shared ??= Buffer.allocUnsafeSlow(WRITE_BYTES_MAX);
    const bytes = shared;
    let size = 0;
    let count = 0;
    for (const outgoing of this.#waiting) {
      const length = lengthMax(outgoing);
      if (count > 0 && size + length > WRITE_BYTES_MAX) break;
      outgoing.onWrite?.();
      size += copy(outgoing, bytes, size);
      this.#byteLength -= length;
      count++;
    }
    this.#waiting = this.#waiting.slice(count);
    return bytes.subarray(0, size);
  }

  /** The last bytes are not completely written yet: their memory belongs to the socket now. */
  keep(): void {
    shared = undefined;
  }

  clear(): void {
    this.#waiting = [];
    this.#byteLength = 0;
  }

  #add(outgoing: Outgoing): void {
    const length = lengthMax(outgoing);
    if (length > WRITE_BYTES_MAX) throw new Error('A command is too long to be written');
    this.#waiting.push(outgoing);
    this.#byteLength += length;
  }
}

function lengthMax({ commands, content, tail }: Transfer): number {
  return commands.length * BYTES_PER_UNIT + (content?.byteLength ?? 0) + (tail?.length ?? 0);
}

/** Returns the number of bytes. */
function copy({ commands, content, tail }: Transfer, to: Buffer, start: number): number {
  let at = start + to.write(commands, start);
  if (content) {
    to.set(content, at);
    at += content.byteLength;
  }
  if (tail) at += to.write(tail, at);
  return at - start;
}
