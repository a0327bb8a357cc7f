/**
 * The memory of large answers: each is in it until its client has taken it, and a client that reads slowly or not at all would keep
 * it for as long as it likes. So only so much is there at once in a process and for a customer. An answer that is not taken in time
 * is cut off; an answer without memory waits a little and is refused then.
 */
import type { ServerResponse } from 'node:http';
import { RateLimitedError } from './errors.ts';
import { ANSWER_TAKEN_MS_MAX, ANSWER_WAIT_MS_MAX } from './large-content-times.ts';
import { SharedMemory } from './shared-memory.ts';

const MEGABYTE = 1024 * 1024;
/** One answer of the largest content. While an answer is made, its content is there three times. */
const BYTES_PER_CUSTOMER_MAX = 32 * MEGABYTE;
const memory = new SharedMemory({ bytesMax: 64 * MEGABYTE, bytesPerCustomerMax: BYTES_PER_CUSTOMER_MAX });

/** Content of an answer that is not counted: the kernel takes as much at once. */
const SMALL_BYTES = 256 * 1024;
/** Of one customer: what waits may have its content in memory already. */
const WAITING_MAX = 5;
const RETRY_SECONDS = 5;

const waiting = new Map<bigint, number>();

/** The content of one answer to one customer. */
export class AnswerMemory {
  readonly #cutOff: () => void;
  #bytes = 0;
  #taken: { readonly customerId: bigint; bytes: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isMade = false;
  #hasLeft = false;

  /** `cutOff` ends the connection of a client that has not taken the answer in time. */
  constructor(cutOff: () => void) {
    this.#cutOff = cutOff;
  }

  /** Takes memory for so many bytes more, best before they are read. Throws RateLimitedError `TOO_MANY_LARGE_ANSWERS`. */
  async take(customerId: bigint, bytes: number): Promise<void> {
    this.#bytes += bytes;
    if (this.#bytes > SMALL_BYTES && !this.#tryTake(customerId))
      await retry(customerId, () => this.#tryTake(customerId));
  }

  #tryTake(customerId: bigint): boolean {
    // Nobody is there to get it.
    if (this.#hasLeft) throw tooManyLargeAnswers();
    const taken = (this.#taken ??= { customerId, bytes: 0 });
    const more = Math.min(this.#bytes, BYTES_PER_CUSTOMER_MAX) - taken.bytes;
    if (memory.freeFor(customerId) < more) return false;
    memory.take(customerId, more);
    taken.bytes += more;
    this.#timer ??= setTimeout(() => this.#endLate(), ANSWER_TAKEN_MS_MAX).unref();
    return true;
  }

  /** Nothing more is read for it. */
  made(): void {
    this.#isMade = true;
    this.#giveBack();
  }

  /** The client has taken the answer, or is gone. */
  left(): void {
    this.#hasLeft = true;
    this.#giveBack();
  }

  /** Whoever serves the request has had longer than any statement may take. */
  #endLate(): void {
    this.#cutOff();
    this.#isMade = true;
    this.left();
  }

  /** A client that goes away does not stop the reading. */
  #giveBack(): void {
    if (!this.#isMade || !this.#hasLeft || !this.#taken) return;
    clearTimeout(this.#timer);
    memory.give(this.#taken.customerId, this.#taken.bytes);
    this.#taken = undefined;
  }
}

const answers = new WeakMap<ServerResponse, AnswerMemory>();

/** The memory of this answer. Whoever serves the request says when it is made; it is given back when it has left, too. */
export function answerMemoryOf(res: ServerResponse): AnswerMemory {
  const known = answers.get(res);
  if (known) return known;
  const answer = new AnswerMemory(() => void res.destroy());
  answers.set(res, answer);
  if (res.closed) answer.left();
  else res.once('close', () => answer.left());
  return answer;
}

/** Whether this text of a customer may be in the answer; for pages, which say in their own words that it may not. */
export async function hasMemory(res: ServerResponse, customerId: bigint, text: string): Promise<boolean> {
  try {
    await answerMemoryOf(res).take(customerId, Buffer.byteLength(text));
    return true;
  } catch (error) {
    if (error instanceof RateLimitedError) return false;
    throw error;
  }
}

/** The request was served: nothing more is read for its answer. */
export function answerMade(res: ServerResponse): void {
  answers.get(res)?.made();
}

/** Tries again whenever memory was given back, for a short time. */
async function retry(customerId: bigint, tryTake: () => boolean): Promise<void> {
  const others = waiting.get(customerId) ?? 0;
  if (others >= WAITING_MAX) throw tooManyLargeAnswers();
  waiting.set(customerId, others + 1);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooManyLargeAnswers()), ANSWER_WAIT_MS_MAX);
  try {
    do await Promise.race([memory.whenGiven(), late.promise]);
    while (!tryTake());
  } finally {
    clearTimeout(timer);
    const left = (waiting.get(customerId) ?? 1) - 1;
    if (left > 0) waiting.set(customerId, left);
    else waiting.delete(customerId);
  }
}

function tooManyLargeAnswers(): RateLimitedError {
  const message = 'Large answers are still on their way to their readers: try again in a few seconds.';
  return new RateLimitedError('TOO_MANY_LARGE_ANSWERS', message, RETRY_SECONDS);
}
