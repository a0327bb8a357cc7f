/**
 * One socket to a server as a stream of commands and replies. What is queued in one turn of the event loop is sent in one write,
 * and each reply goes to its command, in order. Knows nothing about messages.
 */
import type { Socket } from 'node:net';
import type { Transfer } from './content.ts';
import { Outbox } from './outbox.ts';
import { ReplyReader, SmtpProtocolError, type Reply } from './reply.ts';
import { CLOSING } from './reply-meaning.ts';

/** So many bytes are written at once, before the turn ends: the server can start to work. */
const FLUSH_BYTES = 65_536;

/**
 * A server that takes bytes is not silent, but one that takes a few now and then would hold a message for days. After so many
 * times the time for a reply, taking bytes no longer counts.
 */
const SILENT_REPLIES_MAX = 3;

/** No complete reply came within the time for one. */
export class SmtpTimeoutError extends Error {}

export type ReplyHandler = (reply: Reply) => void;

export class SmtpChannel {
  readonly #replyTimeoutMs: number;
  readonly #timer: NodeJS.Timeout;
  /** The handlers of the next replies, each with its number of replies. */
  readonly #awaited: { readonly handler: ReplyHandler; count: number }[] = [];
  readonly #outbox = new Outbox();
  #socket: Socket;
  #reader = new ReplyReader();
  #isReading = false;
  /** The bytes being read contain a complete reply: the time for the next one starts after it. */
  #wasAnswered = false;
  #isFlushPlanned = false;
  /** The kernel has not taken all of the last write yet. */
  #isBlocked = false;
  /** It did not take the last one at once; under TLS it never does. */
  #isSlow = false;
  /** When the server began to take the bytes to which the oldest expected reply belongs. */
  #drainingSince: number | undefined;
  #closedBy: Error | undefined;
  #onClosed: (reason: Error) => void = () => {};

  constructor(socket: Socket, replyTimeoutMs: number) {
    this.#socket = socket;
    this.#replyTimeoutMs = replyTimeoutMs;
    this.#timer = setTimeout(() => this.#onSilence(), replyTimeoutMs);
    this.#attach();
  }

  /** Reports once that the connection is closed, with the reason. */
  onClosed(listener: (reason: Error) => void): void {
    this.#onClosed = listener;
    if (this.#closedBy) listener(this.#closedBy);
  }

  /**
   * Queues bytes for the next write: answers to replies are written when all of them are read, other bytes at the end of the
   * turn.
   */
  write(transfer: Transfer, onWrite?: () => void): void {
    if (this.#closedBy) return;
    this.#outbox.add(transfer, onWrite);
    if (this.#outbox.byteLength >= FLUSH_BYTES) return this.#flush();
    if (this.#isReading || this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => {
      this.#isFlushPlanned = false;
      this.#flush();
    });
  }

  /** The next `count` replies without a handler go to this one. */
  expect(handler: ReplyHandler, count = 1): void {
    const last = this.#awaited.at(-1);
    if (last?.handler === handler) {
      last.count += count;
      return;
    }
    this.#awaited.push({ handler, count });
    if (this.#awaited.length === 1 && !this.#isReading) this.#startClock();
  }

  /** Waits for one reply; rejects when the connection is lost. For the dialogue before and after the messages. */
  reply(): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#closedBy) return reject(this.#closedBy);
      this.onClosed(reject);
      this.expect(resolve);
    });
  }

  /** Sends one command and waits for its reply. */
  request(command: string): Promise<Reply> {
    const reply = this.reply();
    this.write({ commands: `${command}\r\n` });
    return reply;
  }

  /** Moves the dialogue to the socket that `secure` makes of this one. Unread plain text is dropped. */
  async replaceSocket(secure: (plain: Socket) => Promise<Socket>): Promise<void> {
    if (this.#closedBy) throw this.#closedBy;
    if (this.#reader.hasRest) throw new SmtpProtocolError('The server sent more than its answer before TLS began');
    const plain = this.#socket;
    plain.removeAllListeners('data').removeAllListeners('end').removeAllListeners('close');
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
    this.#outbox.clear();
    clearTimeout(this.#timer);
    this.#socket.destroy();
    this.#onClosed(reason);
  }

  #attach(): void {
    this.#socket
      .on('data', (chunk: Buffer) => this.#onData(chunk))
      .on('end', () => this.destroy(new Error('The server closed the connection')))
      .on('error', (error) => this.destroy(error))
      .on('close', () => this.destroy(new Error('The connection was lost')));
  }

  #onData(chunk: Buffer): void {
    this.#isReading = true;
    this.#wasAnswered = false;
    try {
      this.#reader.push(chunk, this.#onReply);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new SmtpProtocolError(String(error)));
    }
    this.#isReading = false;
    if (this.#wasAnswered) this.#startClock();
    this.#flush();
  }

  readonly #onReply = (reply: Reply): void => {
    if (this.#closedBy) return;
    const [awaited] = this.#awaited;
    if (awaited) {
      if (--awaited.count === 0) this.#awaited.shift();
      this.#wasAnswered = true;
      return awaited.handler(reply);
    }
    const isLeaving = reply.code === CLOSING;
    this.destroy(isLeaving ? new Error(reply.text()) : new SmtpProtocolError(`Reply to nothing: ${reply.text()}`));
  };

  #flush(): void {
    while (!this.#outbox.isEmpty && !this.#isBlocked && !this.#closedBy) {
      const bytes = this.#outbox.take();
      this.#socket.write(this.#isSlow ? Buffer.from(bytes) : bytes, this.#onWritten);
      this.#isBlocked = this.#socket.writableLength > 0;
      if (this.#isBlocked && !this.#isSlow) this.#outbox.keep();
      this.#isSlow = this.#isBlocked;
    }
  }

  readonly #onWritten = (error?: Error | null): void => {
    if (error || this.#closedBy || !this.#isBlocked || this.#socket.writableLength > 0) return;
    this.#isBlocked = false;
    this.#drainingSince ??= performance.now();
    if (performance.now() - this.#drainingSince < SILENT_REPLIES_MAX * this.#replyTimeoutMs) this.#timer.refresh();
    this.#flush();
  };

  #startClock(): void {
    // refreshing a cleared timer would start it again and keep the process alive
    if (this.#closedBy) return;
    this.#drainingSince = undefined;
    this.#timer.refresh();
  }

  #onSilence(): void {
    if (this.#awaited.length === 0) return;
    this.destroy(new SmtpTimeoutError(`The server gave no answer within ${this.#replyTimeoutMs} ms`));
  }
}
