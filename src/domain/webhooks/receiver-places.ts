/**
 * The deliveries that a process has taken: which of them are under way, and how many more may be taken. A receiver that has answered
 * quickly gets all its connections, and some of its deliveries are taken ahead, so that the connections do not wait for the database. One that
 * is slow, has not answered, or is not known yet, shares a part of the places with all others like it, and those of one customer have
 * a part of that: however many are dead, there is room for those that live.
 */
import type { Attempt, TakenDelivery, Taking } from './delivery-store.ts';
import { CONNECTIONS_MAX } from './receiver-connections.ts';

/** With those that wait here: a limit of memory. */
const TAKEN_MAX = 1_000;
const SLOW_MAX = 128;
/** A customer's dead receivers leave places for the first deliveries of others. */
export const SLOW_OF_CUSTOMER_MAX = 32;
/** A receiver that took longer is slow. */
const SLOW_MS = 1_000;
/** To one that has not answered, or was not asked yet: enough to see whether it does. */
export const UNPROVEN_CONNECTIONS = 2;
/** Of a quick receiver: what its connections need until the next round of taking, and what is being recorded. */
const TAKEN_OF_QUICK_MAX = 160;
/** Deliveries with larger payloads are not taken ahead. */
const LARGE_BYTES = 32_768;
/** Of a receiver: what was sent and is not recorded comes twice when the process is killed. */
export const UNRECORDED_MAX = 64;
/** Receivers that are remembered; those that were used longest ago are forgotten first. */
const RECEIVERS_MAX = 1_000;

export interface Waiting {
  readonly delivery: TakenDelivery;
  /** By the clock of the process (`performance.now`). */
  readonly takenAt: number;
}

interface Receiver {
  /** Taken ahead. */
  waiting: Waiting[];
  /** Requests without an answer. */
  open: number;
  /** All that are taken. */
  taken: number;
  hasAnswered: boolean;
  /** Quick answers since the last one that was not: 0, it is not quick. The more, the more is taken ahead. */
  quickInARow: number;
  isLarge: boolean;
}

/** For taking: of each known receiver, of every other one, of a customer, and in all. */
export type Places = Omit<Taking, 'owner' | 'leaseSeconds'>;

/** The places of one process. */
export class ReceiverPlaces {
  readonly #taken = new Map<bigint, TakenDelivery>();
  readonly #receivers = new Map<string, Receiver>();

  /** Those that are under way, or being recorded. */
  get count(): number {
    return [...this.#receivers.values()].reduce((sum, { taken, waiting }) => sum + taken - waiting.length, 0);
  }

  has(id: bigint): boolean {
    return this.#taken.has(id);
  }

  /**
   * What may be taken now, undefined: nothing. Of quick receivers and of all others it is taken separately: in one choice of both, many
   * slow ones would get the places of the quick ones. Nor do quick ones, however much waits for them, get the places of the others.
   */
  next(kind: 'quick' | 'others'): Places | undefined {
    const receivers = [...this.#receivers];
    const limits = (limitOf: (state: Receiver) => number) =>
      receivers.map(([receiver, state]) => [receiver, limitOf(state)] as const);
    const slow = [...this.#taken.values()].filter(({ receiver }) => !this.isQuick(receiver));
    const places = TAKEN_MAX - this.#taken.size;
    if (kind === 'quick') {
      const free = Math.min(places, TAKEN_MAX - SLOW_MAX - (this.#taken.size - slow.length));
      if (free <= 0 || !receivers.some(([, { quickInARow }]) => quickInARow > 0)) return undefined;
      const known = limits(({ quickInARow, isLarge }) => {
        if (quickInARow === 0) return 0;
        return isLarge ? CONNECTIONS_MAX : Math.min(CONNECTIONS_MAX + quickInARow, TAKEN_OF_QUICK_MAX);
      });
      return { known, limitOfOthers: 0, wanted: free, underWay: [], limitOfCustomer: free };
    }
    const wanted = Math.min(places, SLOW_MAX - slow.length);
    if (wanted <= 0) return undefined;
    const known = limits(({ quickInARow, hasAnswered }) => {
      if (quickInARow > 0) return 0;
      return hasAnswered ? CONNECTIONS_MAX : UNPROVEN_CONNECTIONS;
    });
    const underWay = [...Map.groupBy(slow, ({ customerId }) => customerId)].map(([id, of]) => [id, of.length] as const);
    return { known, limitOfOthers: UNPROVEN_CONNECTIONS, wanted, underWay, limitOfCustomer: SLOW_OF_CUSTOMER_MAX };
  }

  /** It waits to be started. */
  add(delivery: TakenDelivery, takenAt: number): void {
    const state = this.#of(delivery.receiver);
    this.#taken.set(delivery.id, delivery);
    state.waiting.push({ delivery, takenAt });
    state.taken += 1;
    state.isLarge = delivery.payload.byteLength > LARGE_BYTES;
  }

  /** The next one of the receiver that may be sent now. */
  start(receiver: string): Waiting | undefined {
    const state = this.#receivers.get(receiver);
    if (!state || state.open >= CONNECTIONS_MAX || state.taken - state.waiting.length >= UNRECORDED_MAX)
      return undefined;
    const next = state.waiting.shift();
    if (next) state.open += 1;
    return next;
  }

  /** Its request has ended after `ms`; undefined: none was made. It is taken until `end`. */
  answered({ receiver }: TakenDelivery, attempt: Attempt | undefined, ms: number): void {
    const state = this.#of(receiver);
    state.open -= 1;
    if (attempt?.request === null) return;
    state.hasAnswered = attempt !== undefined && attempt.status !== null;
    state.quickInARow = state.hasAnswered && ms <= SLOW_MS ? state.quickInARow + 1 : 0;
  }

  isQuick(receiver: string): boolean {
    return (this.#receivers.get(receiver)?.quickInARow ?? 0) > 0;
  }

  end({ id, receiver }: TakenDelivery): void {
    if (this.#taken.delete(id)) this.#of(receiver).taken -= 1;
  }

  /** Those that wait, of one receiver or of all, are not taken any more. */
  drop(receiver?: string): readonly TakenDelivery[] {
    const states = receiver === undefined ? [...this.#receivers.values()] : [this.#of(receiver)];
    return states.flatMap((state) => {
      const dropped = state.waiting.map(({ delivery }) => delivery);
      state.waiting = [];
      for (const delivery of dropped) this.end(delivery);
      return dropped;
    });
  }

  #of(receiver: string): Receiver {
    const state = this.#receivers.get(receiver) ?? {
      ...{ waiting: [], open: 0, taken: 0, hasAnswered: false, quickInARow: 0, isLarge: false },
    };
    this.#receivers.delete(receiver);
    this.#receivers.set(receiver, state);
    for (const [name, { taken }] of this.#receivers) {
      if (this.#receivers.size <= RECEIVERS_MAX) break;
      if (taken === 0) this.#receivers.delete(name);
    }
    return state;
  }
}
