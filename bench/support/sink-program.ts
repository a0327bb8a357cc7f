/**
 * An SMTP receiver as a program of its own, made to cost as little as can be: it looks at bytes, keeps no message, and
 * counts who got how many. `sink-process.ts` starts it. It offers what `--mode` says (chunking, pipelining, neither) and
 * answers `--delay` milliseconds late, as a server far away does: every command waits that long, many in flight wait
 * together. A provider (a domain that begins with "p") may say that it gets too much, as `sink-process.ts` tells it.
 */
import { createServer, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import type { SinkMode, SinkReport } from './sink-process.ts';

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'chunking' },
    delay: { type: 'string', default: '0' },
    'timed-from': { type: 'string', default: 'Infinity' },
  },
});
const DELAY_MS = Number(values.delay);
/** From this number of a person on, the time of each copy is kept until it is asked for. */
const TIMED_FROM = Number(values['timed-from']);
const EXTENSIONS: Readonly<Record<string, string>> = {
  chunking: '250-bench\r\n250-PIPELINING\r\n250 CHUNKING\r\n',
  pipelining: '250-bench\r\n250 PIPELINING\r\n',
  neither: '250 bench\r\n',
} satisfies Record<SinkMode, string>;
const EHLO = EXTENSIONS[values.mode] ?? '';
const OK = '250 2.0.0 Ok\r\n';
const GO_ON = '354 End data with <CR><LF>.<CR><LF>\r\n';
const BYE = '221 2.0.0 Bye\r\n';
const TOO_MUCH = '421 4.7.28 Gmail has detected an unusual rate of mail\r\n';
const NOBODY = '503 5.5.1 No valid recipients\r\n';
const END_OF_DATA = Buffer.from('\r\n.\r\n');
const [LF, ZERO, AT, SMALL_P] = [10, 48, 64, 112];
/** The first letters of the commands, in capitals, as all senders here write them. */
const [B, C, D, E, Q, R] = [66, 67, 68, 69, 81, 82];

/** Copies by the number in `person<number>@`; the array grows with the largest number seen. */
let copies = new Uint32Array(1_048_576);
let arrivals: [person: number, at: number][] = [];
let isProviderFull = false;
const report: { -readonly [Key in keyof SinkReport]: SinkReport[Key] } = emptyReport();

class Dialogue {
  readonly #socket: Socket;
  #rest: Buffer | undefined;
  /** Bytes of a chunk (BDAT) that are still to come. */
  #skip = 0;
  #isAtChunk = false;
  #isInData = false;
  #person = -1;
  #isAtProvider = false;
  #isRefused = false;
  #replies = '';

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', () => undefined).on('data', (chunk: Buffer) => this.#take(chunk));
    this.#replies = '220 bench\r\n';
    this.#answer();
  }

  #take(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    let at = 0;
    for (;;) {
      const next =
        this.#skip > 0
          ? this.#skipChunk(bytes, at)
          : this.#isInData
            ? this.#endData(bytes, at)
            : this.#command(bytes, at);
      if (next === at) break;
      at = next;
    }
    // What a line or the end of the data may still need; never more than a line, or four bytes.
    const keepFrom = this.#isInData ? Math.max(at, bytes.length - END_OF_DATA.length + 1) : at;
    this.#rest = keepFrom < bytes.length ? bytes.subarray(keepFrom) : undefined;
    if (this.#replies !== '') this.#answer();
  }

  #skipChunk(bytes: Buffer, at: number): number {
    const skipped = Math.min(this.#skip, bytes.length - at);
    if (skipped > 0 && this.#isAtChunk) {
      this.#isAtChunk = false;
      // DKIM-Signature is the only field at the beginning with this letter, Date never is the first.
      if (bytes[at] === D) report.signed += 1;
    }
    this.#skip -= skipped;
    if (this.#skip === 0) this.#accept();
    return at + skipped;
  }

  #endData(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(END_OF_DATA, at);
    if (end < 0) return at;
    this.#isInData = false;
    this.#accept();
    return end + END_OF_DATA.length;
  }

  #command(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at);
    if (end < 0) return at;
    const first = bytes[at];
    if (first === B) {
      this.#skip = numberIn(bytes, at + 5);
      this.#isAtChunk = true;
    } else if (first === D) {
      this.#isInData = true;
      this.#replies += GO_ON;
    } else if (first === E) this.#replies += EHLO;
    else if (first === Q) this.#replies += BYE;
    else {
      // RSET begins with the same letter.
      const isRecipient = first === R && bytes[at + 1] === C;
      if (isRecipient) this.#takeRecipient(bytes, at);
      this.#replies += isRecipient && this.#isRefused ? TOO_MUCH : OK;
    }
    return end + 1;
  }

  /** RCPT TO:<person123@…>: the number begins at the fifteenth byte. */
  #takeRecipient(bytes: Buffer, at: number): void {
    this.#person = numberIn(bytes, at + 15);
    this.#isAtProvider = bytes[bytes.indexOf(AT, at) + 1] === SMALL_P;
    this.#isRefused = this.#isAtProvider && isProviderFull;
  }

  #accept(): void {
    if (this.#isRefused) {
      this.#replies += NOBODY;
      return;
    }
    this.#replies += OK;
    report.messages += 1;
    if (this.#isAtProvider) report.atProvider += 1;
    report.firstAt ??= Date.now();
    if (this.#person >= TIMED_FROM) arrivals.push([this.#person, Date.now()]);
    if (this.#person >= copies.length) grow(this.#person);
    const before = copies[this.#person] ?? 0;
    copies[this.#person] = before + 1;
    if (before === 0) report.people += 1;
    if (before === 1) report.doubled += 1;
  }

  #answer(): void {
    const replies = this.#replies;
    this.#replies = '';
    if (DELAY_MS === 0) this.#socket.write(replies);
    else setTimeout(() => this.#socket.write(replies), DELAY_MS);
  }
}

function numberIn(bytes: Buffer, start: number): number {
  let value = 0;
  for (let at = start; ; at++) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return value;
    value = value * 10 + digit;
  }
}

function grow(number: number): void {
  const larger = new Uint32Array(Math.max(number + 1, copies.length * 2));
  larger.set(copies);
  copies = larger;
}

function emptyReport(): SinkReport {
  return { messages: 0, people: 0, doubled: 0, signed: 0, firstAt: null, atProvider: 0 };
}

process.on('message', (question) => {
  if (question === 'arrivals') {
    process.send?.(arrivals);
    arrivals = [];
    return;
  }
  process.send?.(report);
  if (question === 'provider is full' || question === 'provider has room')
    isProviderFull = question === 'provider is full';
  if (question !== 'reset') return;
  copies.fill(0);
  Object.assign(report, emptyReport());
});
process.on('disconnect', () => process.exit());
const server = createServer((socket) => void new Dialogue(socket)).listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 });
});
