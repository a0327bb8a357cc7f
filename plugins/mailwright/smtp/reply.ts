/** One reply of an SMTP server, and the reader that splits a byte stream into replies (RFC 5321 4.2). */

/** How much of one reply is kept; EHLO answers are far shorter. */
const REPLY_BYTES_KEPT = 16_384;
/** A server that sends more than this in one reply is broken or hostile. */
const REPLY_BYTES_MAX = 1_048_576;
/** What the ledger keeps of a reply: enough for the longest refusals that large providers write. */
const REPLY_TEXT_LENGTH_MAX = 500;

const LF = 10;
const CR = 13;
const HYPHEN = 45;
const SPACE = 32;
const ZERO = 48;
const TILDE = 126;
const ENHANCED_STATUS = /^([245]\.\d{1,3}\.\d{1,3})(?:\s|$)/;
// oxlint-disable-next-line no-control-regex -- control characters are exactly what is taken out
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** The server broke the protocol: its later replies on this connection cannot be assigned to messages. */
export class SmtpProtocolError extends Error {}

/**
 * One complete reply. It points into the received bytes, and its text is decoded only when it is read: usually three of a
 * message's four replies are not.
 */
export class Reply {
  readonly code: number;
  readonly #bytes: Buffer;
  readonly #start: number;
  /** The end of the text, without the line end. */
  readonly #end: number;

  constructor(bytes: Buffer, { code, start, end }: ReplyPlace) {
    this.code = code;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  get isPositive(): boolean {
    return this.code >= 200 && this.code < 300;
  }

  /** The texts of all lines, without code and line ends. */
  lines(): string[] {
    return linesIn(this.#bytes.toString('utf8', this.#start, this.#end));
  }

  /** Code and text in one line, cut to a length for the ledger. */
  text(): string {
    if (this.#isPlain()) return this.#bytes.toString('latin1', this.#start, this.#end);
    const end = Math.min(this.#end, this.#start + REPLY_TEXT_LENGTH_MAX * 4);
    const joined = linesIn(this.#bytes.toString('utf8', this.#start, end))
      .join(' ')
      .replace(UNPRINTABLE, ' ')
      .trim();
    return `${this.code} ${joined}`.slice(0, REPLY_TEXT_LENGTH_MAX).trimEnd();
  }

  /** RFC 3463 status such as `5.1.1`, if there is one. */
  enhancedStatus(): string | undefined {
    return ENHANCED_STATUS.exec(this.lines()[0] ?? '')?.[1];
  }

  /** One short line of printable ASCII without surrounding blanks, as nearly all replies are: it needs no cleaning. */
  #isPlain(): boolean {
    const [bytes, start, end] = [this.#bytes, this.#start, this.#end];
    if (end - start > REPLY_TEXT_LENGTH_MAX || end - start < 5) return false;
    if (bytes[start + 3] !== SPACE || bytes[start + 4] === SPACE || bytes[end - 1] === SPACE) return false;
    for (let at = start + 4; at < end; at++) if (!isPrintable(bytes[at] ?? 0)) return false;
    return true;
  }
}

interface ReplyPlace {
  readonly code: number;
  readonly start: number;
  readonly end: number;
}

/** A reply that is longer than what is kept. */
interface LongReply {
  readonly kept: Reply;
  size: number;
  /** The first bytes of the current line. */
  readonly lineHead: Buffer;
  lineLength: number;
}

/** Collects bytes in pieces of any size, and returns complete replies in order. */
export class ReplyReader {
  #pending: Buffer | undefined;
  /** Where the first line that was not checked begins in `#pending`. */
  #scanned = 0;
  #long: LongReply | undefined;

  /** Whether there are bytes of an incomplete reply. */
  get hasRest(): boolean {
    return this.#pending !== undefined || this.#long !== undefined;
  }

  /**
   * Throws `SmtpProtocolError` on anything that is not a reply. An endless reply is returned before that: its code decides the
   * result of its message.
   */
  push(chunk: Buffer, onReply: (reply: Reply) => void): void {
    const fresh = this.#long ? this.#skip(this.#long, chunk, onReply) : chunk;
    const bytes = this.#pending ? Buffer.concat([this.#pending, fresh]) : fresh;
    let lineStart = this.#pending ? this.#scanned : 0;
    let start = 0;
    for (let lineEnd = lineEndIn(bytes, lineStart); lineEnd >= 0; lineEnd = lineEndIn(bytes, lineStart)) {
      const code = codeOf(bytes, lineStart);
      if (lineStart > start) assertSameCode(code, codeOf(bytes, start));
      const isLast = bytes[lineStart + 3] !== HYPHEN;
      lineStart = lineEnd + 1;
      if (!isLast) continue;
      const end = bytes[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd;
      onReply(new Reply(bytes, { code, start, end: Math.min(end, start + REPLY_BYTES_KEPT) }));
      start = lineStart;
    }
    const isLong = bytes.length - start > REPLY_BYTES_KEPT;
    if (isLong) this.#long = longReplyIn(bytes, start, lineStart);
    this.#pending = start < bytes.length && !isLong ? bytes.subarray(start) : undefined;
    this.#scanned = lineStart - start;
  }

  /** Drops what is not kept, up to the reply's end; returns what follows it. */
  #skip(long: LongReply, chunk: Buffer, onReply: (reply: Reply) => void): Buffer {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (long.lineLength < long.lineHead.length) long.lineHead[long.lineLength] = byte;
      long.lineLength += 1;
      if (byte !== LF) continue;
      assertSameCode(codeOf(long.lineHead, 0), long.kept.code);
      long.lineLength = 0;
      if (long.lineHead[3] === HYPHEN) continue;
      this.#long = undefined;
      onReply(long.kept);
      return chunk.subarray(at + 1);
    }
    long.size += chunk.length;
    if (long.size <= REPLY_BYTES_MAX) return NOTHING;
    onReply(long.kept);
    throw new SmtpProtocolError(`A reply of the server is longer than ${REPLY_BYTES_MAX} bytes`);
  }
}

const NOTHING = Buffer.alloc(0);

/** The reply that begins at `start`; all its lines except the one at `lineStart` were checked. */
function longReplyIn(bytes: Buffer, start: number, lineStart: number): LongReply {
  const code = codeOf(bytes, start);
  const head = Buffer.from(bytes.subarray(start, start + REPLY_BYTES_KEPT));
  const lineHead = Buffer.alloc(4);
  bytes.copy(lineHead, 0, lineStart);
  const kept = new Reply(head, { code, start: 0, end: head.length });
  return { kept, size: bytes.length - start, lineHead, lineLength: bytes.length - lineStart };
}

/** Replies are short: a loop over the bytes is faster than a native call. */
function lineEndIn(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at++) if (bytes[at] === LF) return at;
  return -1;
}

function linesIn(text: string): string[] {
  return text.split('\n').map((line) => line.slice(4).trimEnd());
}

function isPrintable(byte: number): boolean {
  return byte >= SPACE && byte <= TILDE;
}

function codeOf(bytes: Buffer, start: number): number {
  const first = (bytes[start] ?? 0) - ZERO;
  const second = (bytes[start + 1] ?? 0) - ZERO;
  const third = (bytes[start + 2] ?? 0) - ZERO;
  const separator = bytes[start + 3] ?? 0;
  const isCode = first >= 2 && first <= 5 && second >= 0 && second <= 9 && third >= 0 && third <= 9;
  const isSeparated = separator === SPACE || separator === HYPHEN || separator === LF || separator === CR;
  if (!isCode || !isSeparated) throw new SmtpProtocolError('The server sent something that is no SMTP reply');
  return first * 100 + second * 10 + third;
}

function assertSameCode(code: number, firstCode: number): void {
  if (code !== firstCode) throw new SmtpProtocolError('The server changed the code within one reply');
}
