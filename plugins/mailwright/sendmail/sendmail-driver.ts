/** The driver that the host calls: a process for each message, and never more of them at once than allowed. */
import {
  SendingError,
  type ConnectionTest,
  type DriverOptions,
  type DriverSettings,
  type OutgoingMessage,
  type SendingDriver,
  type SendResult,
} from '../../../src/plugin-api/index.ts';
import { argumentsFor } from './envelope.ts';
import { askProgram } from './ask-program.ts';
import { failureOf, wordsOf } from './exit-meaning.ts';
import { startProgram } from './start-program.ts';

const CRLF = /\r\n/g;

/** Makes a driver from checked settings; starts nothing yet. */
export function connectSendmail(settings: DriverSettings, options: DriverOptions): SendingDriver {
  return new SendmailDriver(String(settings['path']), options);
}

class SendmailDriver implements SendingDriver {
  readonly capacity: number;
  readonly #path: string;
  readonly #timeoutMs: number;
  readonly #underWay = new Set<Promise<unknown>>();
  /** Those that wait for a process to end. */
  readonly #waiting: (() => void)[] = [];
  #processes = 0;
  #isClosed = false;

  constructor(path: string, { connectionsMax, replyTimeoutMs }: DriverOptions) {
    this.#path = path;
    this.#timeoutMs = replyTimeoutMs;
    this.capacity = connectionsMax;
  }

  send(message: OutgoingMessage): Promise<SendResult> {
    const sending = this.#send(message);
    const ended = sending.catch(() => undefined).finally(() => this.#underWay.delete(ended));
    this.#underWay.add(ended);
    return sending;
  }

  test(): Promise<ConnectionTest> {
    return askProgram(this.#path, this.#timeoutMs);
  }

  /** Messages that still wait for a process are not sent: they have no fate yet. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const goOn of this.#waiting.splice(0)) goOn();
    await Promise.all(this.#underWay);
  }

  async #send(message: OutgoingMessage): Promise<SendResult> {
    const given = argumentsFor(message);
    await this.#takePlace();
    let gone = Promise.resolve();
    try {
      // Asked once: the content is handed over with the start.
      if (message.mayStillLeave && !(await message.mayStillLeave()))
        throw new SendingError('unavailable', 'The message may not be sent any more.');
      const program = startProgram({
        path: this.#path,
        arguments: given,
        input: withLineFeeds(message.content),
        timeoutMs: this.#timeoutMs,
      });
      gone = program.gone;
      const end = await program.end;
      const failure = failureOf(end, this.#path);
      if (failure) throw failure;
      const words = end.isStarted ? wordsOf(end) : '';
      return { runtimeMessageId: message.messageId, reply: `${this.#path} has taken it. ${words}`.trim() };
    } finally {
      // A process that could not be ended keeps its place.
      void gone.then(() => this.#givePlace());
    }
  }

  async #takePlace(): Promise<void> {
    if (!this.#isClosed && this.#processes < this.capacity) this.#processes += 1;
    // Woken with the place of another, or by close().
    else if (!this.#isClosed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#isClosed) throw new SendingError('unavailable', 'The driver is closed.');
  }

  /** To the one that has waited longest, if there is one. */
  #givePlace(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#processes -= 1;
  }
}

/** A sendmail command reads a text of Unix. Those of today also take CRLF; older ones keep a CR at the end of each line. */
function withLineFeeds(content: Uint8Array): Buffer {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return Buffer.from(bytes.toString('latin1').replace(CRLF, '\n'), 'latin1');
}
