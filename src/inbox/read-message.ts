/**
 * Parses received mails in a separate thread, one after the other. Anybody may have sent them, and a mail of short lines would
 * block the process for a second per MB. A mail that takes too much CPU time or memory ends the thread and is shown unparsed.
 */
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts';
import { WatchedThread } from '../lib/watched-thread.ts';
import type { ParseAnswer, ParseRequest } from './message-worker.ts';
import { unparsedMessage, type ParsedMessage } from './parse-message.ts';

/** CPU time for one mail. 25 MB of usual mail, the largest that is taken, need a second. */
const CPU_MS_MAX = 5_000;
const SILENCE_MS_MAX = 120_000;
/** A mail of 25 MB is held several times while it is parsed. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
/** Somebody who looks at one mail often looks at the next. A new thread takes 0.1 s; its memory is free when it ends. */
const IDLE_MS_MAX = 10_000;

interface Task {
  readonly id: number;
  readonly resolve: (message: ParsedMessage) => void;
  readonly fail: (why: string) => void;
}

/** Parses mails in one thread, which is started when it is needed. */
export class MessageReader {
  readonly #cpuMsMax: number;
  readonly #reading = createConcurrencyLimit({ runningMax: 1 });
  #lastId = 0;
  #atWork: Task | undefined;
  #thread: WatchedThread<ParseAnswer> | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor({ cpuMsMax }: { cpuMsMax: number }) {
    this.#cpuMsMax = cpuMsMax;
  }

  /** The parsed mail. If it cannot be parsed or takes too long, its text says so. */
  read(raw: Buffer): Promise<ParsedMessage> {
    return this.#reading.run(() => this.#parse(raw));
  }

  async #parse(raw: Buffer): Promise<ParsedMessage> {
    clearTimeout(this.#idle);
    const { promise, resolve } = Promise.withResolvers<ParsedMessage>();
    this.#lastId = (this.#lastId % 0x7fff_fffe) + 1;
    const fail = (why: string): void => resolve(unparsedMessage(raw, `${why}.`));
    this.#atWork = { id: this.#lastId, resolve, fail };
    this.#thread ??= this.#startThread();
    // A copy of these bytes alone: a small Buffer shares its memory with others, and all of it would be sent.
    const request: ParseRequest = { id: this.#lastId, raw: new Uint8Array(raw) };
    this.#thread.post(request);
    const message = await promise;
    this.#atWork = undefined;
    this.#idle = setTimeout(() => {
      this.#thread?.end();
      this.#thread = undefined;
    }, IDLE_MS_MAX).unref();
    return message;
  }

  #startThread(): WatchedThread<ParseAnswer> {
    return new WatchedThread<ParseAnswer>({
      program: new URL('./message-worker.ts', import.meta.url),
      resourceLimits: RESOURCE_LIMITS,
      cpuMsMax: this.#cpuMsMax,
      silenceMsMax: SILENCE_MS_MAX,
      hasWork: () => this.#atWork !== undefined,
      onAnswer: ({ id, message }) => {
        if (this.#atWork?.id === id) this.#atWork.resolve(message);
      },
      onLost: (why) => {
        this.#thread = undefined;
        this.#atWork?.fail(why);
      },
    });
  }
}

const reader = new MessageReader({ cpuMsMax: CPU_MS_MAX });

/** The mail, parsed in this process's thread. */
export function readMessage(raw: Buffer): Promise<ParsedMessage> {
  return reader.read(raw);
}
