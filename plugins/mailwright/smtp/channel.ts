/**
 * One socket to a server as a stream of commands and replies: what is queued in one turn of the event loop leaves in
 * one write, and each reply goes to the command that it answers, in order. Knows nothing of messages.
 */
import type { Socket } from 'node:net';
import type { Piece } from './content.ts';
import { ReplyReader, SmtpProtocolError, type Reply } from './reply.ts';
import { CLOSING } from './reply-meaning.ts';

/** One write's share: enough to fill a socket's buffer, so that at most this much is ever between us and the kernel. */
const WRITE_BYTES_MAX = 262_144;

/**
 * A server that takes bytes is not silent, but one that takes a few now and then would hold a message for days: after
 * so many times the time for a reply, taking bytes counts no more.
 */
const PATIENCE = 3;

/** No whole reply came within the time for one. */
export class SmtpTimeoutError extends Error {}

export type ReplyHandler = (reply: Reply) => void;

interface Outgoing {
  readonly piece: Piece;
  /** Called just before the piece goes to the socket: from then on the server may have it. */
  readonly onWrite: (() => void) | undefined;
}

export class SmtpChannel {
  readonly #replyTimeoutMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #awaited: ReplyHandler[] = [];
  #socket: Socket;
  #reader = new ReplyReader();
  #outgoing: Outgoing[] = [];
  #isFlushPlanned = false;
  #isBlocked = false;
  /** When the server began to take bytes of what the oldest awaited reply is about. */
  #drainingSince: number | undefined;
  #closedBy: Error | undefined;
  #onClosed: (reason: Error) => void = () => {};

  constructor(socket: Socket, replyTimeoutMs: number) {
    this.#socket = socket;
    this.#replyTimeoutMs = replyTimeoutMs;
    this.#timer = setTimeout(() => this.#onSilence(), replyTimeoutMs);
    this.#attach();
  }

  /** Tells once that the connection is gone, with the reason. */
  onClosed(listener: (reason: Error) => void): void {
    this.#onClosed = listener;
    if (this.#closedBy) listener(this.#closedBy);
  }

  /** Plans pieces for the next write. */
  write(pieces: readonly Piece[], onLastWrite?: () => void): void {
    const last = pieces.length - 1;
    pieces.forEach((piece, index) => this.#queue(piece, index === last ? onLastWrite : undefined));
    if (this.#isFlushPlanned || this.#closedBy) return;
    this.#isFlushPlanned = true;
    setImmediate(() => this.#flush());
  }

  /** The next reply that nobody awaits yet is for this handler. */
  expect(handler: ReplyHandler): void {
    if (this.#awaited.push(handler) === 1) this.#startClock();
  }

  /** Awaits one reply; rejects when the connection is lost. For the dialogue before and after the messages. */
  reply(): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#closedBy) return reject(this.#closedBy);
      this.onClosed(reject);
      this.expect(resolve);
    });
  }

  /** Sends one command and awaits its reply. */
  request(command: string): Promise<Reply> {
    const reply = this.reply();
    this.write([`${command}\r\n`]);
    return reply;
  }

  /** Puts the dialogue on the socket that `secure` makes of this one. What came in plain text is not carried over. */
  async replaceSocket(secure: (plain: Socket) => Promise<Socket>): Promise<void> {
    if (this.#closedBy) throw this.#closedBy;
    if (this.#reader.hasRest) throw new SmtpProtocolError('The server sent more than its answer before TLS began');
    const plain = this.#socket;
    plain.removeAllListeners('data').removeAllListeners('end').removeAllListeners('close').removeAllListeners('drain');
    this.#reader = new ReplyReader();
    const secured = await secure(plain);
    if (this.#closedBy) secured.destroy();
    this.#socket = secured;
    this.#attach();
  }

  /** Drops the connection at once; a second call does nothing. */
  destroy(reason: Error): void {
    if (this.#closedBy) return;
    this.#closedBy = reason;
    this.#outgoing = [];
    clearTimeout(this.#timer);
    this.#socket.destroy();
    this.#onClosed(reason);
  }

  #attach(): void {
    this.#socket
      .on('data', (chunk: Buffer) => this.#onData(chunk))
      .on('drain', () => this.#onDrain())
      .on('end', () => this.destroy(new Error('The server closed the connection')))
      .on('error', (error) => this.destroy(error))
      .on('close', () => this.destroy(new Error('The connection was lost')));
  }

  #onData(chunk: Buffer): void {
    try {
      this.#reader.push(chunk, (reply) => this.#onReply(reply));
    } catch (error) {
      this.destroy(error instanceof Error ? error : new SmtpProtocolError(String(error)));
    }
  }

  #onReply(reply: Reply): void {
    if (this.#closedBy) return;
    const handler = this.#awaited.shift();
    if (handler) {
      this.#startClock();
      return handler(reply);
    }
    const isLeaving = reply.code === CLOSING;
    this.destroy(isLeaving ? new Error(reply.text()) : new SmtpProtocolError(`Reply to nothing: ${reply.text()}`));
  }

  #queue(piece: Piece, onWrite: (() => void) | undefined): void {
    if (typeof piece === 'string' || piece.byteLength <= WRITE_BYTES_MAX) {
      this.#outgoing.push({ piece, onWrite });
      return;
    }
    for (let from = 0; from < piece.byteLength; from += WRITE_BYTES_MAX) {
      const isLast = from + WRITE_BYTES_MAX >= piece.byteLength;
      this.#outgoing.push({
        piece: piece.subarray(from, from + WRITE_BYTES_MAX),
        onWrite: isLast ? onWrite : undefined,
      });
    }
  }

  #flush(): void {
    this.#isFlushPlanned = false;
    while (this.#outgoing.length > 0 && !this.#isBlocked && !this.#closedBy) this.#isBlocked = !this.#writeShare();
  }

  /** One write of as much as one write may hold; false when the socket wants a rest. */
  #writeShare(): boolean {
    const bytes: Uint8Array[] = [];
    let size = 0;
    let count = 0;
    for (const { piece, onWrite } of this.#outgoing) {
      const part = typeof piece === 'string' ? Buffer.from(piece) : piece;
      if (count > 0 && size + part.byteLength > WRITE_BYTES_MAX) break;
      onWrite?.();
      bytes.push(part);
      size += part.byteLength;
      count++;
    }
    this.#outgoing.splice(0, count);
    return this.#socket.write(Buffer.concat(bytes, size));
  }

  #onDrain(): void {
    this.#isBlocked = false;
    this.#drainingSince ??= performance.now();
    if (performance.now() - this.#drainingSince < PATIENCE * this.#replyTimeoutMs) this.#timer.refresh();
    this.#flush();
  }

  #startClock(): void {
    this.#drainingSince = undefined;
    this.#timer.refresh();
  }

  #onSilence(): void {
    if (this.#awaited.length === 0) return;
    this.destroy(new SmtpTimeoutError(`The server gave no answer within ${this.#replyTimeoutMs} ms`));
  }
}
