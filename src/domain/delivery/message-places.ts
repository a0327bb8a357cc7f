/** How many messages a process has under way at once, and of whom: so much is taken next. */
import { PRIORITIES } from '../messages/message.ts';
import type { TakenMessage, Taking } from './message-queue-store.ts';

/** Each waits for a connection more than for the processor. */
const UNDER_WAY_MAX = 96;
/** So many places are for the first priority only: a flood of others never fills the process. */
const FIRST_ONLY = 32;
/** One customer whose server hangs does not hold the others up. */
const OF_A_CUSTOMER_MAX = 16;
/** A round takes few, so that a message is not long ahead of one with a higher priority. */
const ROUND_MAX = 32;
/** The same for customers. */
const ROUND_OF_A_CUSTOMER_MAX = 8;

const ALL_PRIORITIES = Object.values(PRIORITIES);

/** The places of one process. */
export class MessagePlaces {
  readonly #underWay = new Map<bigint, Promise<void>>();
  readonly #ofCustomer = new Map<bigint, number>();
  #others = 0;

  get ids(): readonly bigint[] {
    return [...this.#underWay.keys()];
  }

  /** It has not ended yet. */
  has(id: bigint): boolean {
    return this.#underWay.has(id);
  }

  /** What may be taken now; undefined: nothing. */
  next(): Omit<Taking, 'holder'> | undefined {
    const places = Math.min(ROUND_MAX, UNDER_WAY_MAX - this.#underWay.size);
    if (places <= 0) return undefined;
    const forOthers = Math.min(places, UNDER_WAY_MAX - FIRST_ONLY - this.#others);
    return {
      priorities: forOthers > 0 ? ALL_PRIORITIES : [PRIORITIES.transactional],
      busy: [...this.#ofCustomer].filter(([, count]) => count >= OF_A_CUSTOMER_MAX).map(([id]) => id),
      perCustomer: ROUND_OF_A_CUSTOMER_MAX,
      wanted: forOthers > 0 ? forOthers : places,
    };
  }

  /** Holds a place for the message until the work on it, which never rejects, has ended. */
  hold({ id, customerId, priority }: TakenMessage, work: Promise<void>): Promise<void> {
    const other = priority === PRIORITIES.transactional ? 0 : 1;
    this.#count(customerId, 1);
    this.#others += other;
    const ended = work.then(() => {
      this.#underWay.delete(id);
      this.#count(customerId, -1);
      this.#others -= other;
    });
    this.#underWay.set(id, ended);
    return ended;
  }

  /** One of them has ended. */
  async ended(): Promise<void> {
    await Promise.race(this.#underWay.values());
  }

  #count(customerId: bigint, more: number): void {
    const count = (this.#ofCustomer.get(customerId) ?? 0) + more;
    if (count > 0) this.#ofCustomer.set(customerId, count);
    else this.#ofCustomer.delete(customerId);
  }
}
