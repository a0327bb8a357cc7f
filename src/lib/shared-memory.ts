/**
 * A part of the process's memory that customers share, counted in bytes: together they have `bytesMax`, one of them
 * `bytesPerCustomerMax`. It only counts; who takes more than is free decides so.
 */
export interface SharedMemoryLimits {
  readonly bytesMax: number;
  readonly bytesPerCustomerMax: number;
}

export class SharedMemory {
  readonly #limits: SharedMemoryLimits;
  #taken = 0;
  readonly #takenBy = new Map<bigint, number>();
  #waiting: (() => void)[] = [];

  constructor(limits: SharedMemoryLimits) {
    this.#limits = limits;
  }

  /** Bytes that this customer may still take; below zero when more was taken. */
  freeFor(customerId: bigint): number {
    const { bytesMax, bytesPerCustomerMax } = this.#limits;
    return Math.min(bytesMax - this.#taken, bytesPerCustomerMax - (this.#takenBy.get(customerId) ?? 0));
  }

  take(customerId: bigint, bytes: number): void {
    if (bytes === 0) return;
    this.#taken += bytes;
    this.#takenBy.set(customerId, (this.#takenBy.get(customerId) ?? 0) + bytes);
  }

  give(customerId: bigint, bytes: number): void {
    if (bytes === 0) return;
    this.#taken -= bytes;
    const left = (this.#takenBy.get(customerId) ?? 0) - bytes;
    if (left > 0) this.#takenBy.set(customerId, left);
    else this.#takenBy.delete(customerId);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when memory was given back: look again. */
  whenGiven(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
