/**
 * How many deliveries a process has under way at once, and to whom. A receiver that has answered quickly gets all its connections. One
 * that is slow, has not answered, or is not known yet, shares half of the places with all others like it, so that however many are
 * dead, there is room for those that live.
 */
import type { Taking } from './delivery-store.ts';
import { CONNECTIONS_MAX } from './receiver-connections.ts';

/** Each waits for a connection more than for the processor. */
const UNDER_WAY_MAX = 256;
const SLOW_MAX = 128;
/** A receiver that took longer is slow. */
const SLOW_MS = 1_000;
/** To one that has not answered, or was not asked yet: enough to see whether it does. */
export const UNPROVEN_CONNECTIONS = 2;
/** Receivers that are remembered; those that were used longest ago are forgotten first. */
const RECEIVERS_MAX = 1_000;

interface Receiver {
  running: number;
  hasAnswered: boolean;
  isQuick: boolean;
}

/** For taking: of each known receiver, of every other one, and in all. */
export type Places = Pick<Taking, 'known' | 'limitOfOthers' | 'wanted'>;

/** The places of one process. */
export class ReceiverPlaces {
  readonly #underWay = new Map<bigint, Promise<void>>();
  readonly #receivers = new Map<string, Receiver>();

  get count(): number {
    return this.#underWay.size;
  }

  has(id: bigint): boolean {
    return this.#underWay.has(id);
  }

  /**
   * What may be taken now, undefined: nothing. Of quick receivers and of all others it is taken separately: in one choice of both, many
   * slow ones would get the places of the quick ones.
   */
  next(kind: 'quick' | 'others'): Places | undefined {
    const receivers = [...this.#receivers];
    const limits = (limitOf: (state: Receiver) => number) =>
      receivers.map(([receiver, state]) => [receiver, limitOf(state)] as const);
    const free = UNDER_WAY_MAX - this.#underWay.size;
    if (kind === 'quick') {
      if (free <= 0 || !receivers.some(([, { isQuick }]) => isQuick)) return undefined;
      return { known: limits(({ isQuick }) => (isQuick ? CONNECTIONS_MAX : 0)), limitOfOthers: 0, wanted: free };
    }
    const slowRunning = receivers.reduce((sum, [, { isQuick, running }]) => sum + (isQuick ? 0 : running), 0);
    const wanted = Math.min(free, SLOW_MAX - slowRunning);
    if (wanted <= 0) return undefined;
    const limitOf = ({ isQuick, hasAnswered }: Receiver): number => {
      if (isQuick) return 0;
      return hasAnswered ? CONNECTIONS_MAX : UNPROVEN_CONNECTIONS;
    };
    return { known: limits(limitOf), limitOfOthers: UNPROVEN_CONNECTIONS, wanted };
  }

  /** Holds a place until the attempt, which never rejects, has ended. It tells how long the answer took; undefined: there was none. */
  hold(
    { id, receiver }: { readonly id: bigint; readonly receiver: string },
    work: Promise<number | undefined>,
  ): Promise<void> {
    const state = this.#of(receiver);
    state.running += 1;
    const ended = work.then((answeredMs) => {
      this.#underWay.delete(id);
      state.running -= 1;
      state.hasAnswered = answeredMs !== undefined;
      state.isQuick = answeredMs !== undefined && answeredMs <= SLOW_MS;
    });
    this.#underWay.set(id, ended);
    return ended;
  }

  /** One of them has ended. */
  async ended(): Promise<void> {
    await Promise.race(this.#underWay.values());
  }

  #of(receiver: string): Receiver {
    const state = this.#receivers.get(receiver) ?? { running: 0, hasAnswered: false, isQuick: false };
    this.#receivers.delete(receiver);
    this.#receivers.set(receiver, state);
    for (const [name, { running }] of this.#receivers) {
      if (this.#receivers.size <= RECEIVERS_MAX) break;
      if (running === 0) this.#receivers.delete(name);
    }
    return state;
  }
}
