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

/** A plan or a server may be changed meanwhile. */
const REST_SECONDS_MAX = 60;

const ALL_PRIORITIES = Object.values(PRIORITIES);

/** The places of one process. */
export class MessagePlaces {
  readonly #underWay = new Map<bigint, Promise<void>>();
  readonly #ofCustomer = new Map<bigint, number>();
  /** Until when a customer's mails of flows rest, by `performance.now()`. */
  readonly #resting = new Map<bigint, number>();
  #others = 0;

  get ids(): readonly bigint[] {
    return [...this.#underWay.keys()];
  }

  /** It has not ended yet. */
  has(id: bigint): boolean {
    return this.#underWay.has(id);
  }

  /** No mails of this customer's flows are taken for so long: without this, thousands would be looked at again and again. */
  rest(customerId: bigint, seconds: number): void {
    this.#resting.set(customerId, performance.now() + Math.min(seconds, REST_SECONDS_MAX) * 1_000);
  }

  /** What may be taken now, one after the other; mails of flows apart while some customers' rest. */
  next(): readonly Omit<Taking, 'holder'>[] {
    const places = Math.min(ROUND_MAX, UNDER_WAY_MAX - this.#underWay.size);
    if (places <= 0) return [];
    const forOthers = Math.min(places, UNDER_WAY_MAX - FIRST_ONLY - this.#others);
    const busy = [...this.#ofCustomer].filter(([, count]) => count >= OF_A_CUSTOMER_MAX).map(([id]) => id);
    const round = { busy, perCustomer: ROUND_OF_A_CUSTOMER_MAX, wanted: forOthers > 0 ? forOthers : places };
    if (forOthers <= 0) return [{ ...round, priorities: [PRIORITIES.transactional] }];
    const resting = this.#stillResting();
    if (resting.length === 0) return [{ ...round, priorities: ALL_PRIORITIES }];
    const half = { ...round, wanted: Math.ceil(round.wanted / 2) };
    return [
      { ...half, priorities: ALL_PRIORITIES.filter((one) => one !== PRIORITIES.flow) },
      { ...half, priorities: [PRIORITIES.flow], busy: [...busy, ...resting] },
    ];
  }

  #stillResting(): readonly bigint[] {
    const now = performance.now();
    for (const [id, until] of this.#resting) if (until <= now) this.#resting.delete(id);
    return [...this.#resting.keys()];
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
