/**
 * Fair permits of one server: the messages in flight are shared by the customers that want to send now. Alone, a customer has all
 * permits; when another comes, free ones go to it until both have equal parts.
 */

/** One customer's access to the permits; its jobs share it. */
export interface Permits {
  /** Takes up to `wanted` free permits; may be none. */
  tryTake(wanted: number): number;
  give(count: number): void;
  /** Resolves when permits may be free: try again. */
  whenFree(): Promise<void>;
}

interface Recipient {
  used: number;
  waiting: (() => void)[];
  /** When it was last called; until it tries again it still counts as waiting. */
  calledAt: number;
}

/** After a message that goes before others, permits are kept free for the next ones for so long. */
const AHEAD_MS = 60_000;
/** The part of the permits that is kept then, one at least: of two or more, never all. */
const AHEAD_PART = 8;

/** A customer that was called and does not try again in this time no longer waits. */
const CALL_MS = 100;

export class FairPermits {
  #capacity: number;
  /** Below zero after the capacity fell, until enough are given back. */
  #free: number;
  #wasFull = false;
  readonly #recipients = new Map<bigint, Recipient>();
  /** Calls with a waiting job. */
  #callsWanted = 0;
  /** Messages that go before others and wait; and when one was last here, or was last called. */
  readonly #aheadWaiting: (() => void)[] = [];
  #aheadAt = -Infinity;
  #aheadCalledAt = -Infinity;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#free = capacity;
  }

  get capacity(): number {
    return this.#capacity;
  }

  get inFlight(): number {
    return this.#capacity - this.#free;
  }

  /** Whether somebody wanted more than there were, since this was last asked. */
  takeWasFull(): boolean {
    const wasFull = this.#wasFull;
    this.#wasFull = false;
    return wasFull;
  }

  /** Changes how many there are; those in use stay in use. */
  resize(capacity: number): void {
    if (capacity === this.#capacity) return;
    this.#free += capacity - this.#capacity;
    this.#capacity = capacity;
    if (this.#free > 0) this.#callAll();
  }

  /** The permits as one customer sees them. */
  of(customerId: bigint): Permits {
    return {
      tryTake: (wanted) => this.#tryTake(customerId, wanted),
      give: (count) => this.#give(customerId, count),
      whenFree: () => this.#whenFree(customerId),
    };
  }

  /**
   * The permits as messages see them that go before all others: they get the next one that is free. While such messages come, some
   * permits are kept free for them; otherwise none are, and others lose nothing.
   */
  ahead(): Permits {
    return {
      tryTake: (wanted) => {
        this.#aheadAt = performance.now();
        this.#aheadCalledAt = -Infinity;
        const taken = Math.max(0, Math.min(wanted, this.#free));
        this.#free -= taken;
        if (taken < wanted) this.#wasFull = true;
        return taken;
      },
      give: (count) => {
        this.#free += count;
        this.#callAll();
      },
      whenFree: () => (this.#free > 0 ? Promise.resolve() : new Promise((resolve) => this.#aheadWaiting.push(resolve))),
    };
  }

  /** Permits that only messages that go before others may take. */
  #kept(): number {
    if (this.#aheadWaiting.length === 0 && performance.now() - this.#aheadAt >= AHEAD_MS) return 0;
    if (this.#capacity > 1) return Math.max(1, Math.floor(this.#capacity / AHEAD_PART));
    return this.#aheadWaiting.length > 0 || performance.now() - this.#aheadCalledAt < CALL_MS ? 1 : 0;
  }

  #callAll(): void {
    for (const wake of this.#aheadWaiting.splice(0, Math.max(0, this.#free))) {
      this.#aheadCalledAt = performance.now();
      wake();
    }
    if (this.#callsWanted > 0) this.#callWaiting(performance.now());
  }

  #tryTake(customerId: bigint, wanted: number): number {
    const recipient = this.#customerOf(customerId);
    recipient.calledAt = -Infinity;
    const taken = Math.max(0, Math.min(wanted, this.#free - this.#kept(), this.#freePermitsFor(recipient)));
    recipient.used += taken;
    this.#free -= taken;
    if (taken < wanted && this.#free <= 0) this.#wasFull = true;
    this.#remove(customerId, recipient);
    return taken;
  }

  #give(customerId: bigint, count: number): void {
    const recipient = this.#customerOf(customerId);
    recipient.used -= count;
    this.#free += count;
    this.#remove(customerId, recipient);
    this.#callAll();
  }

  /** The customer with the fewest first; all are called, since some may no longer wait. */
  #callWaiting(now: number): void {
    for (const [id, next] of [...this.#recipients].sort(([, a], [, b]) => a.used - b.used)) {
      if (next.waiting.length === 0) {
        this.#remove(id, next);
        continue;
      }
      next.calledAt = now;
      this.#callsWanted -= next.waiting.length;
      for (const wake of next.waiting.splice(0)) wake();
    }
  }

  #whenFree(customerId: bigint): Promise<void> {
    const recipient = this.#customerOf(customerId);
    if (this.#free > this.#kept() && this.#freePermitsFor(recipient) > 0) {
      this.#remove(customerId, recipient);
      return Promise.resolve();
    }
    this.#callsWanted += 1;
    return new Promise((resolve) => recipient.waiting.push(resolve));
  }

  /** How many more it may have: unlimited while nobody with less than its part waits. */
  #freePermitsFor(recipient: Recipient): number {
    if (this.#recipients.size === 1) return this.#capacity;
    const share = Math.max(1, Math.floor(this.#capacity / this.#recipients.size));
    const now = performance.now();
    for (const other of this.#recipients.values()) {
      const isWaiting = other.waiting.length > 0 || now - other.calledAt < CALL_MS;
      if (other !== recipient && isWaiting && other.used < share) return share - recipient.used;
    }
    return this.#capacity;
  }

  #customerOf(customerId: bigint): Recipient {
    const known = this.#recipients.get(customerId);
    if (known) return known;
    const recipient = { used: 0, waiting: [], calledAt: -Infinity };
    this.#recipients.set(customerId, recipient);
    return recipient;
  }

  /** A customer without permits and waiting jobs is removed. */
  #remove(customerId: bigint, recipient: Recipient): void {
    if (recipient.used === 0 && recipient.waiting.length === 0 && performance.now() - recipient.calledAt >= CALL_MS)
      this.#recipients.delete(customerId);
  }
}
