/**
 * Permits of one server, fairly: what may be in flight at once is shared by the customers that want some at this
 * moment. Alone, a customer has them all; when another comes, what comes free is the newcomer's until both have equal
 * parts.
 */

/** One customer's way to the permits; its jobs share it. */
export interface Permits {
  /** Takes up to `wanted` permits that are free now; may be none. */
  tryTake(wanted: number): number;
  give(count: number): void;
  /** Resolves when permits may have come free: ask again. */
  whenFree(): Promise<void>;
}

interface Guest {
  used: number;
  waiting: (() => void)[];
  /** When it was last called; until it asks again it still counts as waiting. */
  calledAt: number;
}

/** Who was called and does not ask again in this time has gone home. */
const CALL_MS = 100;

export class FairPermits {
  readonly #capacity: number;
  #free: number;
  readonly #guests = new Map<bigint, Guest>();
  /** Calls that somebody waits for. */
  #callsWanted = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#free = capacity;
  }

  /** The permits as one customer sees them. */
  of(customerId: bigint): Permits {
    return {
      tryTake: (wanted) => this.#tryTake(customerId, wanted),
      give: (count) => this.#give(customerId, count),
      whenFree: () => this.#whenFree(customerId),
    };
  }

  #tryTake(customerId: bigint, wanted: number): number {
    const guest = this.#guestOf(customerId);
    guest.calledAt = -Infinity;
    const taken = Math.max(0, Math.min(wanted, this.#free, this.#roomFor(guest)));
    guest.used += taken;
    this.#free -= taken;
    this.#forget(customerId, guest);
    return taken;
  }

  #give(customerId: bigint, count: number): void {
    const guest = this.#guestOf(customerId);
    guest.used -= count;
    this.#free += count;
    this.#forget(customerId, guest);
    if (this.#callsWanted > 0) this.#callWaiting(performance.now());
  }

  /** Whoever has least first; all are called, since some may have gone home. */
  #callWaiting(now: number): void {
    for (const [id, next] of [...this.#guests].sort(([, a], [, b]) => a.used - b.used)) {
      if (next.waiting.length === 0) {
        this.#forget(id, next);
        continue;
      }
      next.calledAt = now;
      this.#callsWanted -= next.waiting.length;
      for (const wake of next.waiting.splice(0)) wake();
    }
  }

  #whenFree(customerId: bigint): Promise<void> {
    const guest = this.#guestOf(customerId);
    if (this.#free > 0 && this.#roomFor(guest) > 0) {
      this.#forget(customerId, guest);
      return Promise.resolve();
    }
    this.#callsWanted += 1;
    return new Promise((resolve) => guest.waiting.push(resolve));
  }

  /** How many more it may have: no limit while nobody who has less than its part waits. */
  #roomFor(guest: Guest): number {
    if (this.#guests.size === 1) return this.#capacity;
    const share = Math.max(1, Math.floor(this.#capacity / this.#guests.size));
    const now = performance.now();
    for (const other of this.#guests.values()) {
      const isWaiting = other.waiting.length > 0 || now - other.calledAt < CALL_MS;
      if (other !== guest && isWaiting && other.used < share) return share - guest.used;
    }
    return this.#capacity;
  }

  #guestOf(customerId: bigint): Guest {
    const known = this.#guests.get(customerId);
    if (known) return known;
    const guest = { used: 0, waiting: [], calledAt: -Infinity };
    this.#guests.set(customerId, guest);
    return guest;
  }

  /** Whoever has nothing and waits for nothing is no guest. */
  #forget(customerId: bigint, guest: Guest): void {
    if (guest.used === 0 && guest.waiting.length === 0 && performance.now() - guest.calledAt >= CALL_MS)
      this.#guests.delete(customerId);
  }
}
