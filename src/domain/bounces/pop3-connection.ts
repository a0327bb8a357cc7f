/**
 * One POP3 session: commands and answers, within limits of time and size. Our own code because no client on npm is suitable: they
 * treat an answer as complete when a piece of it has arrived, and hold messages of any size. One command at a time.
 */
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { connectionFaultInWords } from '../../lib/connection-faults.ts';
import type { MailboxAddress } from './bounce-handler.ts';
import { MAIL_BYTES_READ } from './mail-report.ts';
import { LISTED_MAX, MAILBOX_TIMEOUTS, type MailboxSession } from './mailbox.ts';

/** RFC 2449: 512 octets; some servers send more. */
const LINE_BYTES_MAX = 8_192;
/** Lines of messages have no limit of their own; longer ones are cut. */
const MESSAGE_LINE_BYTES_MAX = 65_536;
/** Of one answer; a server that sends more is broken. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const LF = 0x0a;

type Waiting = { resolve(line: Buffer): void; reject(error: Error): void };

export class Pop3Connection {
  #socket: Socket;
  #buffer: Buffer = Buffer.alloc(0);
  #waiting: Waiting | undefined;
  #end: Error | undefined;
  /** The rest of a line that was too long is dropped. */
  #isSkipping = false;

  #timer: NodeJS.Timeout;

  private constructor(socket: Socket, msMax: number) {
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#fail('The mail server did not finish in time.'), msMax);
    this.#listen();
  }

  /** Connects and reads the greeting. */
  static async open(
    { host, port, encryption }: MailboxAddress,
    { lookup, msMax = MAILBOX_TIMEOUTS.sessionMs }: MailboxSession,
  ): Promise<Pop3Connection> {
    const options = { host, port, ...(lookup ? { lookup } : {}) };
    const socket =
      encryption === 'tls'
        ? tls.connect({ ...options, minVersion: 'TLSv1.2', ...(net.isIP(host) ? {} : { servername: host }) })
        : net.connect(options);
    await connected(socket, encryption === 'tls' ? 'secureConnect' : 'connect');
    const connection = new Pop3Connection(socket, msMax);
    await connection.#answer('the greeting').catch((error: unknown) => {
      connection.destroy();
      throw error;
    });
    return connection;
  }

  /** RFC 2595. What came before the handshake is dropped. */
  async startTls(host: string): Promise<void> {
    await this.command('STLS');
    const plain = this.#socket;
    plain.removeAllListeners();
    if (this.#buffer.length > 0) throw new Error('The mail server sent more than its answer before encryption began.');
    const secure = tls.connect({
      socket: plain,
      minVersion: 'TLSv1.2',
      ...(net.isIP(host) ? {} : { servername: host }),
    });
    await connected(secure, 'secureConnect');
    this.#socket = secure;
    this.#listen();
  }

  /** Sends a command and returns the text of its +OK. Throws with the server's text, without secrets. */
  async command(line: string, shown = line): Promise<string> {
    this.#send(line);
    return this.#answer(shown);
  }

  /** The lines of a listing. */
  async lines(command: string): Promise<string[]> {
    await this.command(command);
    const lines: string[] = [];
    for (let line = await this.#line(); !isEnd(line); line = await this.#line())
      if (lines.length < LISTED_MAX) lines.push(unstuffed(line).toString('latin1'));
    return lines;
  }

  /** The first bytes of a message; undefined when the server says no. */
  async message(command: string): Promise<Buffer | undefined> {
    this.#send(command);
    const first = (await this.#line()).toString('latin1');
    if (!first.startsWith('+OK')) return undefined;
    const kept: Buffer[] = [];
    let bytes = 0;
    for (let line = await this.#line(); !isEnd(line); line = await this.#line()) {
      bytes += line.length + 2;
      if (bytes > ANSWER_BYTES_MAX) throw this.#fail('A message in the mailbox is too large.');
      if (bytes <= MAIL_BYTES_READ + MESSAGE_LINE_BYTES_MAX) kept.push(unstuffed(line), CRLF);
    }
    return Buffer.concat(kept).subarray(0, MAIL_BYTES_READ);
  }

  destroy(): void {
    this.#end ??= new Error('The connection to the mailbox is closed.');
    clearTimeout(this.#timer);
    this.#socket.destroy();
  }

  #send(line: string): void {
    if (/[\r\n\0]/.test(line)) throw new Error('A command of POP3 is one line.');
    this.#socket.write(`${line}\r\n`);
  }

  async #answer(to: string): Promise<string> {
    const line = (await this.#line()).toString('utf8').slice(0, LINE_BYTES_MAX);
    if (line.startsWith('+OK')) return line.slice(3).trim();
    const [verb = ''] = to.split(' ', 1);
    throw new Error(`The mail server refused ${verb}: ${line.replace(/^-ERR */, '').slice(0, 300)}`);
  }

  #listen(): void {
    const socket = this.#socket;
    socket.setTimeout(MAILBOX_TIMEOUTS.idleMs);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('timeout', () => this.#fail('The mail server did not answer in time.'));
    socket.on('error', (error) => this.#fail(error.message));
    socket.on('close', () => this.#fail('The mail server closed the connection.'));
  }

  #take(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    // More than was asked for: lines are read one by one.
    if (this.#buffer.length > MESSAGE_LINE_BYTES_MAX * 4) this.#socket.pause();
    this.#serve();
  }

  /** Passes the next line to its reader. */
  #serve(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    for (;;) {
      const end = this.#buffer.indexOf(LF);
      if (end < 0 && this.#buffer.length < MESSAGE_LINE_BYTES_MAX) break;
      const cut = end < 0 ? this.#buffer.length : end + 1;
      const line = this.#buffer.subarray(0, end < 0 ? cut : end > 0 && this.#buffer[end - 1] === 0x0d ? end - 1 : end);
      this.#buffer = this.#buffer.subarray(cut);
      const isRest = this.#isSkipping;
      this.#isSkipping = end < 0;
      if (isRest) continue;
      this.#waiting = undefined;
      return waiting.resolve(line);
    }
    if (this.#end) {
      this.#waiting = undefined;
      return waiting.reject(this.#end);
    }
    this.#socket.resume();
  }

  #line(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#serve();
    });
  }

  #fail(message: string): Error {
    this.#end ??= new Error(message);
    clearTimeout(this.#timer);
    this.#socket.destroy();
    this.#serve();
    return this.#end;
  }
}

const CRLF = Buffer.from('\r\n');

function isEnd(line: Buffer): boolean {
  return line.length === 1 && line[0] === 0x2e;
}

/** RFC 1939, 3: removes the added dot. */
function unstuffed(line: Buffer): Buffer {
  return line[0] === 0x2e ? line.subarray(1) : line;
}

function connected(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => fail(new Error('The mail server did not answer in time.')),
      MAILBOX_TIMEOUTS.connectMs,
    );
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(
        new Error(`The mail server cannot be reached: ${connectionFaultInWords(error).message}`, { cause: error }),
      );
    };
    socket.once('error', fail);
    socket.once(event, () => {
      clearTimeout(timer);
      socket.off('error', fail);
      resolve();
    });
  });
}
