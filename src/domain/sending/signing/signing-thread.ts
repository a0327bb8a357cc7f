/**
 * The thread for signatures when one of them is Ed25519. Body, digests and such a signature cost more than all other work for a
 * message. Waiting messages are sent to it at once, and while it is busy more collect: under load more messages share the cost of
 * a transfer. A process without such keys has no such thread.
 */
import { getCompileCacheDir } from 'node:module';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { DkimIdentity } from './dkim-identity.ts';

/** Messages that are signed together. */
export interface SigningBatch {
  readonly number: number;
  /** The messages, one after the other. */
  readonly memory: SharedArrayBuffer;
  /** The end of each. */
  readonly ends: readonly number[];
  readonly identities: readonly DkimIdentity[];
  /** The signer of each: an index of `identities`. */
  readonly signers: readonly number[];
}

export interface SigningAnswer {
  /** Of the batch. */
  readonly number: number;
  /** For each message its signature fields, or why there are none. */
  readonly fields: readonly (string | Error)[];
}

/** One is signed while the next one is put together. With RSA both are in the pool, so that no core waits. */
const BATCHES_MAX = 2;
/**
 * The first of a burst wait for the last of their batch: 6 ms, with RSA 20. Smaller batches would cost the driver more, because
 * messages that return together are written to the server together.
 */
const MESSAGES_MAX = 64;
/** Shared memory for a batch, used again; a larger batch gets its own. */
const MEMORY_BYTES = 1_048_576;
/** Messages are outside of its heap; only their header fields are in it. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

interface Task {
  readonly content: Buffer;
  readonly identity: DkimIdentity;
  readonly resolve: (fields: string) => void;
  readonly reject: (error: unknown) => void;
  /** Lost with a thread, and perhaps the cause: it is tried once more, alone. */
  wasLost: boolean;
}

interface BatchUnderWay {
  readonly tasks: readonly Task[];
  readonly memory: SharedArrayBuffer;
}

let waiting: Task[] = [];
let thread: SigningThread | undefined;

/** The signature fields of a message. Its bytes must not change until then. */
export function signInThread(content: Buffer, identity: DkimIdentity): Promise<string> {
  return new Promise((resolve, reject) => {
    // Requests of one tick go together.
    if (waiting.length === 0) queueMicrotask(handOut);
    waiting.push({ content, identity, resolve, reject, wasLost: false });
  });
}

function handOut(): void {
  try {
    while (waiting.length > 0) {
      thread ??= new SigningThread();
      if (!thread.canTake(waiting[0])) return;
      const count = batchLength(waiting);
      thread.post(waiting.slice(0, count));
      waiting = waiting.slice(count);
    }
  } catch (error) {
    // No thread or no memory is available: all waiting requests fail.
    const tasks = waiting;
    waiting = [];
    for (const task of tasks) task.reject(error);
  }
}

/** How many of the tasks go together, from the first one on. */
function batchLength(tasks: readonly Task[]): number {
  let bytes = 0;
  for (const [index, task] of tasks.entries()) {
    bytes += task.content.byteLength;
    if (index === MESSAGES_MAX || bytes > MEMORY_BYTES || task.wasLost) return Math.max(index, 1);
  }
  return tasks.length;
}

class SigningThread {
  readonly #worker: Worker;
  readonly #underWay = new Map<number, BatchUnderWay>();
  readonly #freeMemory: SharedArrayBuffer[] = [];
  #lastNumber = 0;
  /** The last batch that it got was lost before. */
  #isTrying = false;
  #isLost = false;

  constructor() {
    const cache = getCompileCacheDir();
    this.#worker = new Worker(new URL('./signing-worker.ts', import.meta.url), {
      resourceLimits: RESOURCE_LIMITS,
      // The cache of compiled files, without which it would load the code that removes types (16 MB). Node adds a folder for its
      // version to this one.
      env: cache === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(cache) },
      execArgv: [],
    });
    this.#worker.on('message', (answer: SigningAnswer) => this.#settle(answer));
    this.#worker.on('messageerror', (error) => this.#lose(error));
    this.#worker.on('error', (error) => this.#lose(error));
    this.#worker.on('exit', () => this.#lose(new Error('The thread that signs messages ended')));
    this.#worker.unref();
  }

  /** A task that was lost with a thread goes alone: if that thread ends, too, no other message is at fault. */
  canTake(next: Task | undefined): boolean {
    const isSuspect = next?.wasLost === true || this.#isTrying;
    return this.#underWay.size < (isSuspect ? 1 : BATCHES_MAX);
  }

  post(tasks: readonly Task[]): void {
    const memory = this.#takeMemory(tasks.reduce((sum, { content }) => sum + content.byteLength, 0));
    const bytes = Buffer.from(memory);
    const ends: number[] = [];
    let end = 0;
    for (const { content } of tasks) {
      // `copy` is fast also for shared memory; `set` would copy word by word.
      content.copy(bytes, end);
      end += content.byteLength;
      ends.push(end);
    }
    const identities = [...new Set(tasks.map(({ identity }) => identity))];
    const signers = tasks.map(({ identity }) => identities.indexOf(identity));
    const batch: SigningBatch = { number: ++this.#lastNumber, memory, ends, identities, signers };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    this.#worker.postMessage(batch);
    // The process may end while nothing is being signed.
    if (this.#underWay.size === 0) this.#worker.ref();
    this.#underWay.set(batch.number, { tasks, memory });
    this.#isTrying = tasks.some(({ wasLost }) => wasLost);
  }

  #takeMemory(count: number): SharedArrayBuffer {
    if (count > MEMORY_BYTES) return new SharedArrayBuffer(count);
    return this.#freeMemory.pop() ?? new SharedArrayBuffer(MEMORY_BYTES);
  }

  #settle({ number, fields }: SigningAnswer): void {
    const batch = this.#underWay.get(number);
    if (!batch) return;
    this.#underWay.delete(number);
    if (batch.memory.byteLength === MEMORY_BYTES) this.#freeMemory.push(batch.memory);
    if (this.#underWay.size === 0) this.#worker.unref();
    for (const [index, { resolve, reject }] of batch.tasks.entries()) {
      const found = fields[index];
      if (typeof found === 'string') resolve(found);
      else reject(found ?? new Error('A message came back without its signatures'));
    }
    handOut();
  }

  /** Its tasks are signed by another thread; a task that is lost twice fails. */
  #lose(error: Error): void {
    if (this.#isLost) return;
    this.#isLost = true;
    if (thread === this) thread = undefined;
    const lost = [...this.#underWay.values()].flatMap(({ tasks }) => tasks);
    const again = lost.filter((task) => !task.wasLost);
    for (const task of lost) if (task.wasLost) task.reject(error);
    for (const task of again) task.wasLost = true;
    waiting = [...again, ...waiting];
    void this.#worker.terminate();
    handOut();
  }
}
