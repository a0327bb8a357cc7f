/**
 * A thread that can be stopped: it is watched while it works, and ended when one job takes too much CPU time or memory. The
 * thread writes the id of its current job to shared memory (PROGRESS_JOB), so the job that caused it is known.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, type ResourceLimits } from 'node:worker_threads';

/** What the thread writes to shared memory: the id of its job (0: none), and a position in the job's text. */
export const PROGRESS_JOB = 0;
export const PROGRESS_AT = 1;
const PROGRESS_LENGTH = 2;
/** The position is not known. */
export const NOWHERE = -1;

/** How often the thread is checked while it works. */
const WATCH_MS = 40;

interface ThreadOptions<Answer> {
  readonly program: URL;
  readonly resourceLimits: ResourceLimits;
  /** CPU time that one job may take. */
  readonly cpuMsMax: number;
  /** By the clock: no job may last longer, however busy the machine. */
  readonly silenceMsMax: number;
  readonly hasWork: () => boolean;
  readonly onAnswer: (answer: Answer) => void;
  /** The thread has ended, with the reason; called once, and not after `end`. */
  readonly onLost: (why: string) => void;
}

/** When a job was seen first, and the CPU time of the thread at that moment. */
interface Seen {
  readonly job: number;
  cpuMs: number | undefined;
  readonly at: number;
}

/** One thread and its watch. Its program gets `workerData.progress`, no environment and no arguments. */
export class WatchedThread<Answer> {
  readonly #progress = new Int32Array(new SharedArrayBuffer(PROGRESS_LENGTH * Int32Array.BYTES_PER_ELEMENT));
  readonly #options: ThreadOptions<Answer>;
  readonly #worker: Worker;
  #isWatched = false;
  #isLost = false;

  constructor(options: ThreadOptions<Answer>) {
    this.#options = options;
    this.#worker = new Worker(options.program, {
      workerData: { progress: this.#progress.buffer },
      resourceLimits: options.resourceLimits,
      env: {},
      execArgv: [],
    });
    this.#worker.on('message', options.onAnswer);
    this.#worker.on('error', (error) => {
      const isMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      this.#lose(isMemory ? 'it needs too much memory' : 'it could not be run');
    });
    this.#worker.on('exit', () => this.#lose('it could not be run'));
    this.#worker.unref();
  }

  jobAtWork(): number {
    return Atomics.load(this.#progress, PROGRESS_JOB);
  }

  placeAtWork(): number {
    return Atomics.load(this.#progress, PROGRESS_AT);
  }

  post(message: unknown): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    this.#worker.postMessage(message);
    if (!this.#isWatched) void this.#watch();
  }

  /** Ends a thread that is not needed any longer. */
  end(): void {
    this.#isLost = true;
    void this.#worker.terminate();
  }

  /** Checks the thread as long as it works; a job that takes too much CPU time ends it. */
  async #watch(): Promise<void> {
    const { hasWork, cpuMsMax, silenceMsMax } = this.#options;
    this.#isWatched = true;
    this.#worker.ref();
    let seen: Seen = { job: 0, cpuMs: undefined, at: Date.now() };
    while (hasWork() && !this.#isLost) {
      await sleep(WATCH_MS);
      const job = this.jobAtWork();
      const cpuMs = job === 0 ? undefined : await this.#cpuMs();
      if (job === 0 || job !== seen.job) seen = { job, cpuMs, at: Date.now() };
      // The first answer about this job came too late: it counts from this one.
      seen.cpuMs ??= cpuMs;
      const usedMs = (cpuMs ?? 0) - (seen.cpuMs ?? 0);
      const isTooLong = usedMs > cpuMsMax || (job !== 0 && Date.now() - seen.at > silenceMsMax);
      if (isTooLong && this.jobAtWork() === job) this.#lose('it takes too long');
    }
    this.#isWatched = false;
    if (!this.#isLost) this.#worker.unref();
  }

  /** CPU time of the thread so far; undefined: it, or the thread that asks, was too busy to say. */
  async #cpuMs(): Promise<number | undefined> {
    const reading = this.#worker.cpuUsage().then(({ user, system }) => (user + system) / 1_000);
    return Promise.race([reading.catch(() => undefined), sleep(this.#options.cpuMsMax, undefined, { ref: false })]);
  }

  #lose(why: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#options.onLost(why);
    void this.#worker.terminate();
  }
}
