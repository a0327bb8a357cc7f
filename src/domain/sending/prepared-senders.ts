/**
 * Tells a driver of each From address before the first message of it (`SendingDriver.prepareSender`): once for all messages that wait,
 * and not once per message. One for each connection to a server.
 */
import { messageOf } from '../../lib/errors.ts';
import { SendingError, type SendingDriver } from '../../plugin-api/index.ts';

/** More addresses than a process sends from at the same time; the oldest are forgotten, and told again. */
const ADDRESSES_MAX = 1_000;
/** Somebody may remove a sender at the vendor; then the answer of the first message says so, and this an hour later. */
const PREPARED_MS = 3_600_000;
/** A failure is about all messages of the address. Asked again soon, because somebody may correct it, but not for each of them. */
const FAILED_MS = 10_000;

interface Known {
  /** Undefined: the asking has ended. */
  readonly preparing?: Promise<void>;
  /** Absent: the sender is ready, or it is not known yet. */
  readonly failure?: SendingError;
  readonly endsAt: number;
}

export class PreparedSenders {
  readonly #driver: Pick<SendingDriver, 'prepareSender'>;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();

  constructor(driver: Pick<SendingDriver, 'prepareSender'>, now: () => number = () => performance.now()) {
    this.#driver = driver;
    this.#now = now;
  }

  /**
   * Undefined: messages may be sent at once. The promise rejects with a SendingError: `refused` about `sender`, else `unavailable`, because
   * nothing was sent, and no recipient is the cause. Those who waited for one answer share its error, and the first of them is judged; who
   * comes later gets an error of its own, else nobody would be judged any more.
   */
  prepare(fromEmail: string): Promise<void> | undefined {
    if (!this.#driver.prepareSender) return undefined;
    const known = this.#known.get(fromEmail);
    if (known && known.endsAt > this.#now()) {
      const { preparing, failure } = known;
      return failure ? Promise.reject(new SendingError(failure.kind, failure.message, failure)) : preparing;
    }
    const preparing = this.#ask(fromEmail);
    this.#keep(fromEmail, { preparing, endsAt: Infinity });
    preparing.then(
      () => this.#keep(fromEmail, { endsAt: this.#now() + PREPARED_MS }),
      (failure: SendingError) => this.#keep(fromEmail, { failure, endsAt: this.#now() + FAILED_MS }),
    );
    return preparing;
  }

  async #ask(fromEmail: string): Promise<void> {
    try {
      await this.#driver.prepareSender?.(fromEmail);
    } catch (error) {
      if (error instanceof SendingError && error.kind === 'refused' && error.about === 'sender') throw error;
      throw new SendingError('unavailable', messageOf(error), error instanceof SendingError ? error : {});
    }
  }

  #keep(fromEmail: string, known: Known): void {
    this.#known.delete(fromEmail);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= ADDRESSES_MAX) this.#known.delete(oldest);
    this.#known.set(fromEmail, known);
  }
}
