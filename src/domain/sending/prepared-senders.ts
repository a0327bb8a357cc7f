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
  /** Undefined: the sender is ready. */
  readonly preparing: Promise<void> | undefined;
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

  /** Undefined: messages may be sent at once. The promise rejects with a SendingError, which is never `unknown`: nothing was sent. */
  prepare(fromEmail: string): Promise<void> | undefined {
    if (!this.#driver.prepareSender) return undefined;
    const known = this.#known.get(fromEmail);
    if (known && known.endsAt > this.#now()) return known.preparing;
    const preparing = this.#ask(fromEmail);
    this.#keep(fromEmail, { preparing, endsAt: Infinity });
    preparing.then(
      () => this.#keep(fromEmail, { preparing: undefined, endsAt: this.#now() + PREPARED_MS }),
      () => this.#keep(fromEmail, { preparing, endsAt: this.#now() + FAILED_MS }),
    );
    return preparing;
  }

  async #ask(fromEmail: string): Promise<void> {
    try {
      await this.#driver.prepareSender?.(fromEmail);
    } catch (error) {
      if (error instanceof SendingError && error.kind !== 'unknown') throw error;
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
