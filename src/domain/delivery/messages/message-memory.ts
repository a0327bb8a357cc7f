/**
 * The memory that messages in flight take in this process: all sending loops share it, so that large messages make fewer go at once
 * and not more memory. A goal of 250 MB for a whole process leaves a quarter of it, 64 MB, for them (decision record 0122).
 */
import { SharedMemory } from '../../../lib/shared-memory.ts';

const MEGABYTE = 1024 * 1024;

/**
 * A loop with nothing in flight may always send one message, so that nobody waits for the slow server of another customer. A quarter
 * of the 64 MB is left for these; of all further messages one customer has at most half of the 64 MB.
 */
const memory = new SharedMemory({ bytesMax: 48 * MEGABYTE, bytesPerCustomerMax: 32 * MEGABYTE });

/** The part of one sending loop, whose messages are all as large. */
export class LoopMemory {
  readonly #customerId: bigint;
  readonly #messageBytes: number;
  #messages = 0;

  constructor(customerId: bigint, messageBytes: number) {
    this.#customerId = customerId;
    this.#messageBytes = Math.max(1, messageBytes);
  }

  /** Takes memory for up to `wanted` messages, before they are composed, and returns for how many; may be none. */
  tryTake(wanted: number): number {
    const taken = Math.min(wanted, this.#fitting());
    this.#messages += taken;
    memory.take(this.#customerId, taken * this.#messageBytes);
    return taken;
  }

  /** So many have an outcome, or are not sent. */
  give(count: number): void {
    this.#messages -= count;
    memory.give(this.#customerId, count * this.#messageBytes);
  }

  hasSpace(): boolean {
    return this.#fitting() > 0;
  }

  /** Resolves when any loop gave memory back: try again. */
  whenGiven(): Promise<void> {
    return memory.whenGiven();
  }

  #fitting(): number {
    const free = Math.floor(memory.freeFor(this.#customerId) / this.#messageBytes);
    return Math.max(free, this.#messages === 0 ? 1 : 0);
  }
}
