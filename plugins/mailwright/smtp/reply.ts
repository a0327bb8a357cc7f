/** One reply of an SMTP server, and the reader that cuts a byte stream into replies (RFC 5321 4.2). */

/** A server that says more than this in one reply is broken or hostile; EHLO answers stay far below. */
export const REPLY_BYTES_MAX = 16_384;
/** What the ledger keeps of a reply: enough for the longest refusals that large providers write. */
const REPLY_TEXT_LENGTH_MAX = 500;

const LF = 10;
const HYPHEN = 45;
const SPACE = 32;
const ZERO = 48;
const ENHANCED_STATUS = /^([245]\.\d{1,3}\.\d{1,3})(?:\s|$)/;
// oxlint-disable-next-line no-control-regex -- control characters are exactly what is taken out
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** The server broke the protocol: nothing that it says on this connection can be mapped to a message any more. */
export class SmtpProtocolError extends Error {}

/** One whole reply; its text is decoded only when somebody asks. */
export class Reply {
  readonly code: number;
  readonly #bytes: Buffer;

  constructor(code: number, bytes: Buffer) {
    this.code = code;
    this.#bytes = bytes;
  }

  get isPositive(): boolean {
    return this.code >= 200 && this.code < 300;
  }

  /** The texts of all lines, without code and line ends. */
  lines(): string[] {
    const lines = this.#bytes.toString('utf8').split('\n');
    return lines.map((line) => line.slice(4).trimEnd());
  }

  /** Code and text in one line, cut to a length that fits a ledger. */
  text(): string {
    const first = this.#bytes.subarray(0, REPLY_TEXT_LENGTH_MAX * 4);
    const joined = new Reply(this.code, first).lines().join(' ').replace(UNPRINTABLE, ' ').trim();
    return `${this.code} ${joined}`.slice(0, REPLY_TEXT_LENGTH_MAX).trimEnd();
  }

  /** RFC 3463 status such as `5.1.1`, where the server gives one. */
  enhancedStatus(): string | undefined {
    return ENHANCED_STATUS.exec(this.lines()[0] ?? '')?.[1];
  }
}

/** Collects bytes, however they are cut, and hands out whole replies in their order. */
export class ReplyReader {
  #pending: Buffer | undefined;
  /** Where in `#pending` the first line that has not been looked at starts. */
  #scanned = 0;

  /** Bytes that do not make a whole reply yet. */
  get hasRest(): boolean {
    return this.#pending !== undefined;
  }

  /** Throws `SmtpProtocolError` on anything that is not a reply. */
  push(chunk: Buffer, onReply: (reply: Reply) => void): void {
    const bytes = this.#pending ? Buffer.concat([this.#pending, chunk]) : chunk;
    let lineStart = this.#pending ? this.#scanned : 0;
    let replyStart = 0;
    for (let lineEnd = bytes.indexOf(LF, lineStart); lineEnd >= 0; lineEnd = bytes.indexOf(LF, lineStart)) {
      const code = codeOf(bytes, lineStart);
      assertSameCode(bytes, { code, replyStart, lineStart });
      const isLast = bytes[lineStart + 3] !== HYPHEN;
      lineStart = lineEnd + 1;
      assertSize(lineStart - replyStart);
      if (!isLast) continue;
      onReply(new Reply(code, bytes.subarray(replyStart, lineEnd)));
      replyStart = lineStart;
    }
    assertSize(bytes.length - replyStart);
    this.#pending = replyStart < bytes.length ? bytes.subarray(replyStart) : undefined;
    this.#scanned = lineStart - replyStart;
  }
}

function codeOf(bytes: Buffer, start: number): number {
  const first = (bytes[start] ?? 0) - ZERO;
  const second = (bytes[start + 1] ?? 0) - ZERO;
  const third = (bytes[start + 2] ?? 0) - ZERO;
  const separator = bytes[start + 3] ?? 0;
  const isCode = first >= 2 && first <= 5 && second >= 0 && second <= 9 && third >= 0 && third <= 9;
  const isSeparated = separator === SPACE || separator === HYPHEN || separator === LF || separator === LF + 3;
  if (!isCode || !isSeparated) throw new SmtpProtocolError('The server sent something that is no SMTP reply');
  return first * 100 + second * 10 + third;
}

function assertSameCode(bytes: Buffer, at: { code: number; replyStart: number; lineStart: number }): void {
  if (at.lineStart === at.replyStart || codeOf(bytes, at.replyStart) === at.code) return;
  throw new SmtpProtocolError('The server changed the code within one reply');
}

function assertSize(size: number): void {
  if (size > REPLY_BYTES_MAX)
    throw new SmtpProtocolError(`A reply of the server is longer than ${REPLY_BYTES_MAX} bytes`);
}
