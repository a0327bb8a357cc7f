/**
 * The right to have a large body in memory until it is parsed. Only some are there at once in a process, so that a flood of them
 * takes no more memory than these; the others wait unread in their sockets. Each has a time limit, so that clients who send slowly
 * do not keep others waiting.
 */
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { RateLimitedError } from './errors.ts';
import { BODY_READ_MS_MAX, BODY_WAIT_MS_MAX } from './large-content-times.ts';

/** Each takes its bytes, their text and the values in it: some 40 MB at most. */
const AT_ONCE_MAX = 3;
/** Of one customer, so that another one is served meanwhile. */
const AT_ONCE_PER_KEY_MAX = 2;
/** Waiting costs a connection and no memory. */
const WAITING_PER_KEY_MAX = 50;
const RETRY_SECONDS = 5;

const largeBodies = createConcurrencyLimit({
  runningMax: AT_ONCE_MAX,
  runningPerKeyMax: AT_ONCE_PER_KEY_MAX,
  waitingPerKeyMax: WAITING_PER_KEY_MAX,
  waitMsMax: BODY_WAIT_MS_MAX,
  refuse: () =>
    new RateLimitedError(
      'TOO_MANY_LARGE_BODIES',
      'Other large requests are still being read: try again in a few seconds.',
      RETRY_SECONDS,
    ),
});

/** The body did not arrive within its time. */
export class LateBodyError extends Error {
  readonly code = 'BODY_TOO_SLOW';

  constructor() {
    super(`A large body must arrive within ${BODY_READ_MS_MAX / 1_000} seconds.`);
  }
}

/** Of one request. */
export class LargeBodyRight {
  #key: string;
  #release: (() => void) | undefined;
  #late: Promise<never> | undefined;

  /** Counts for the address as long as no customer is known. */
  constructor(address: string) {
    this.#key = `address ${address}`;
  }

  ofCustomer(customerId: bigint): void {
    this.#key = `customer ${customerId}`;
  }

  /** Resolves when the body may be read. Throws RateLimitedError `TOO_MANY_LARGE_BODIES`. */
  async take(): Promise<void> {
    if (this.#release) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const held = () => new Promise<void>((release) => ((this.#release = release), resolve()));
    largeBodies.run(held, this.#key).catch(reject);
    await promise;
    this.#startTimer();
  }

  /** Waits for a piece of the body. Throws LateBodyError when the right has been held for too long. */
  inTime<T>(piece: Promise<T>): Promise<T> {
    return this.#late ? Promise.race([piece, this.#late]) : piece;
  }

  /** When the body is parsed, or will not be read further; does nothing without the right. */
  giveBack(): void {
    this.#release?.();
    this.#release = undefined;
  }

  #startTimer(): void {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#late = promise;
    // Nobody may wait for it any more.
    promise.catch(() => undefined);
    const timer = setTimeout(() => reject(new LateBodyError()), BODY_READ_MS_MAX).unref();
    const release = this.#release;
    this.#release = () => {
      clearTimeout(timer);
      release?.();
    };
  }
}
