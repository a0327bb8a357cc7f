/** How many messages a process has under way at once, and of whom: so much is taken next. */
import { PRIORITIES } from '../../messages/message.ts';
import type { TakenMessage, Taking } from './message-queue-store.ts';
import { precedence } from '../precedence.ts';

/** Each waits for the database and the server more than for the processor. */
const UNDER_WAY_MAX = 192;
/** So many places are for the first priority only: a flood of others never fills the process. */
const FIRST_ONLY = 128;
/**
 * One customer whose server hangs does not hold the others up; nor do its other messages hold up those of the first priority, of which
 * 500 a second are sent when each takes a fifth of a second. Of these it has no more than places are free, so that several such
 * customers leave some.
 */
const OF_A_CUSTOMER_MAX = { first: 96, others: 16 } as const;
/** A round takes few, so that a message is not long ahead of one with a higher priority; before the first there is none. */
const ROUND_MAX = { first: 64, others: 32 } as const;
/** The same for a customer. */
const ROUND_OF_A_CUSTOMER_MAX = { first: 64, others: 8 } as const;
/** So few are always taken of one, though it comes above its limit by them: else it would have to be asked for one at a time. */
const ROUND_OF_A_CUSTOMER_MIN = { first: 16, others: 8 } as const;

/** A plan or a server may be changed meanwhile. */
const REST_SECONDS_MAX = 60;

const FIRST = [PRIORITIES.transactional] as const;
const ALL = Object.values(PRIORITIES);
const OTHERS = ALL.filter((one) => one !== PRIORITIES.transactional);
const OTHERS_WITHOUT_FLOWS = OTHERS.filter((one) => one !== PRIORITIES.flow);

type Rank = keyof typeof OF_A_CUSTOMER_MAX;
const rankOf = ({ priority }: Pick<TakenMessage, 'priority'>): Rank =>
  priority === PRIORITIES.transactional ? 'first' : 'others';

/** The places of one process. */
export class MessagePlaces {
  readonly #underWay = new Map<bigint, Promise<void>>();
  readonly #ofCustomer = { first: new Map<bigint, number>(), others: new Map<bigint, number>() };
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

  /**
   * What may be taken now, one after the other: all at once, or each priority apart for which other customers are left out, or of which more is
   * taken: `wasFull`, the last time a customer had more than was taken of it.
   */
  next(wasFull = false): readonly Omit<Taking, 'holder'>[] {
    const places = UNDER_WAY_MAX - this.#underWay.size;
    if (places <= 0) return [];
    const first = { ...this.#round('first', places), priorities: FIRST };
    const forOthers = Math.min(places, UNDER_WAY_MAX - FIRST_ONLY - this.#others);
    if (forOthers <= 0) return [first];
    const others = this.#round('others', forOthers);
    const resting = this.#stillResting();
    if (!wasFull && first.busy.length + others.busy.length + resting.length === 0)
      return [{ ...others, priorities: ALL }];
    if (resting.length === 0) return [first, { ...others, priorities: OTHERS }];
    const half = { ...others, wanted: Math.ceil(others.wanted / 2) };
    return [
      first,
      { ...half, priorities: OTHERS_WITHOUT_FLOWS },
      { ...half, priorities: [PRIORITIES.flow], busy: [...others.busy, ...resting] },
    ];
  }

  #round(rank: Rank, places: number): Omit<Taking, 'holder' | 'priorities'> {
    const most = rank === 'first' ? Math.min(OF_A_CUSTOMER_MAX.first, places) : OF_A_CUSTOMER_MAX.others;
    const counts = [...this.#ofCustomer[rank]];
    const busy = counts.filter(([, count]) => count >= most).map(([id]) => id);
    const left = most - Math.max(0, ...counts.flatMap(([, count]) => (count < most ? [count] : [])));
    const perCustomer = Math.min(Math.max(left, ROUND_OF_A_CUSTOMER_MIN[rank]), ROUND_OF_A_CUSTOMER_MAX[rank]);
    return { busy, perCustomer, wanted: Math.min(ROUND_MAX[rank], places) };
  }

  #stillResting(): readonly bigint[] {
    const now = performance.now();
    for (const [id, until] of this.#resting) if (until <= now) this.#resting.delete(id);
    return [...this.#resting.keys()];
  }

  /** Holds a place for the message until the work on it, which never rejects, has ended. */
  hold(message: Pick<TakenMessage, 'id' | 'customerId' | 'priority'>, work: Promise<void>): Promise<void> {
    const { id, customerId } = message;
    const rank = rankOf(message);
    const other = rank === 'first' ? 0 : 1;
    this.#count(rank, customerId, 1);
    this.#others += other;
    if (rank === 'first') precedence.begin();
    const ended = work.then(() => {
      this.#underWay.delete(id);
      this.#count(rank, customerId, -1);
      this.#others -= other;
      if (rank === 'first') precedence.end();
    });
    this.#underWay.set(id, ended);
    return ended;
  }

  /** One of them has ended. */
  async ended(): Promise<void> {
    await Promise.race(this.#underWay.values());
  }

  #count(rank: Rank, customerId: bigint, more: number): void {
    const counts = this.#ofCustomer[rank];
    const count = (counts.get(customerId) ?? 0) + more;
    if (count > 0) counts.set(customerId, count);
    else counts.delete(customerId);
  }
}
