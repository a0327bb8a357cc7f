/**
 * Followers of the event record. One process at a time reads for a follower, by a lease in the database, and each event reaches it
 * at least once: the position moves after the events are handled, so what was being handled when a process died comes again.
 *
 * The order is that of the ids. An id is given while its object's row is locked, so the events of an object have the order in which
 * they happened. A smaller id may commit later than a greater one. A follower therefore reads up to an id only when every
 * transaction that was writing events when this id was the last one has ended. Numbers of transactions would not do as an order: one
 * that began earlier may change an object later.
 *
 * A transaction that stays open after it has written an event holds all followers up. Others do not.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import type { Notifications } from '../db/listen.ts';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { RecordedEvent } from './event-kinds.ts';
import { haveEnded, lastEventId, oldestWriter, openWriters, readEvents } from './event-store.ts';
import {
  holdFollower,
  makeFollowers,
  moveFollower,
  recordFailure,
  releaseFollower,
  releaseFollowers,
  RENEW_MS,
  type FollowerKey,
} from './follower-store.ts';

export interface Follower {
  readonly name: string;
  /** `mailwright`, or the name of a plugin. */
  readonly owner: string;
  /** Handles events in their order. If it throws, all of them come again after a pause, and the ones behind them wait. */
  handle(events: readonly RecordedEvent[]): Promise<void>;
  /** Events that are handled together, at most: after the death of a process so many come again. */
  readonly batch?: number;
}

export interface Following {
  /**
   * Followers besides those of the start, from now on; those that were named before and are not any more end. Each has been made
   * (`beginFollowers`).
   */
  use(more: readonly Follower[]): void;
  /** Reads nothing as long as there is a reason. */
  pause(reason: string): void;
  resume(reason: string): void;
  /** Handles no further batch, waits for those being handled, at most `graceMs` or some seconds, and lets other processes take over. */
  stop(graceMs: number): Promise<void>;
}

interface Means {
  readonly database: Database;
  readonly notifications: Notifications;
  readonly log: Log;
}

const BATCH = 500;
/** Notifications may get lost, and a dead process's followers must be found. */
const POLL_MS = RENEW_MS;
/** A follower moves its position at most twenty times a second, however many transactions write events. */
const ROUND_MS_MIN = 50;
/** Transactions that write last milliseconds; one that lasts longer is asked for once a second. */
const ENDED_MS_MIN = 10;
const ENDED_MS_MAX = 1_000;
/** Nothing of ours may write for longer in one transaction: it holds all followers up. */
const WRITING_MS_MAX = 5_000;
/** As long as a plugin's listener may take. A batch that is cut off comes again. */
const STOP_MS_MAX = 5_000;
/** If the database does not answer, the lease ends by itself. */
const RELEASE_MS_MAX = 1_000;
/** A handler that fails is tried again after 2, 4, 8 … seconds: what it needs is back soon, or somebody has to act. */
const FAILURE_PAUSE_MS = 1_000;
const FAILURE_PAUSE_MS_MAX = 300_000;

/** Starts following with this process. Followers with a new name begin with what happens from now on. */
export async function followEvents(means: Means, followers: readonly Follower[]): Promise<Following> {
  const { database, notifications } = means;
  const holder = randomUUID();
  await makeFollowers(database, followers);
  const reasons = new Set<string>();
  const loops = new FollowerLoops((follower) => new FollowerLoop({ ...means, follower, holder, reasons }));
  loops.use(followers);
  const unlisten = notifications.listen('events', () => loops.wake());
  return {
    use: (more) => loops.use([...followers, ...more]),
    pause: (reason) => void reasons.add(reason),
    resume: (reason) => void reasons.delete(reason),
    async stop(graceMs) {
      unlisten();
      loops.use([]);
      await within(Math.min(graceMs, STOP_MS_MAX), loops.ended());
      await within(RELEASE_MS_MAX, releaseFollowers(database, holder));
    },
  };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  const ended = work.catch(() => undefined);
  await Promise.race([ended, sleep(ms, undefined, { signal: late.signal }).catch(() => undefined)]);
  late.abort();
}

interface LoopMeans extends Means {
  readonly follower: Follower;
  readonly holder: string;
  /** Why it is paused. */
  readonly reasons: ReadonlySet<string>;
}

/** The followers that this process reads for, by name: two loops of one never run at the same time. */
class FollowerLoops {
  readonly #make: (follower: Follower) => FollowerLoop;
  readonly #loops = new Map<string, FollowerLoop>();
  readonly #ends = new Map<string, Promise<void>>();

  constructor(make: (follower: Follower) => FollowerLoop) {
    this.#make = make;
  }

  use(followers: readonly Follower[]): void {
    const names = new Set(followers.map(({ name }) => name));
    for (const [name, loop] of this.#loops) {
      if (names.has(name)) continue;
      loop.stop();
      this.#loops.delete(name);
    }
    for (const follower of followers) {
      const { name } = follower;
      const known = this.#loops.get(name);
      if (known) known.follower = follower;
      else this.#begin(name, this.#make(follower));
    }
  }

  wake(): void {
    for (const loop of this.#loops.values()) loop.wake();
  }

  async ended(): Promise<void> {
    await Promise.all(this.#ends.values());
  }

  #begin(name: string, loop: FollowerLoop): void {
    this.#loops.set(name, loop);
    const before = this.#ends.get(name) ?? Promise.resolve();
    this.#ends.set(
      name,
      before.then(() => loop.run()),
    );
  }
}

class FollowerLoop {
  /** Another one of the same name takes its place with the next batch. */
  follower: Follower;
  readonly #means: LoopMeans;
  readonly #key: FollowerKey;
  #isHolder = false;
  #isStopping = false;
  #retryAt = 0;
  /** Something was announced since the round began. */
  #isAnnounced = false;
  #endSleep: (() => void) | undefined;
  #renewal: Promise<unknown> = Promise.resolve();

  constructor(means: LoopMeans) {
    this.#means = means;
    this.follower = means.follower;
    this.#key = { name: means.follower.name, holder: means.holder };
  }

  /** Events were announced. */
  wake(): void {
    if (!this.#isHolder || performance.now() < this.#retryAt) return;
    this.#isAnnounced = true;
    this.#endSleep?.();
  }

  stop(): void {
    this.#isStopping = true;
    this.#endSleep?.();
  }

  async run(): Promise<void> {
    const { log } = this.#means;
    while (!this.#isStopping) {
      this.#isAnnounced = false;
      await this.#round().catch((error: unknown) =>
        log.warn('events.not_read', { follower: this.#key.name, message: messageOf(error) }),
      );
      if (!this.#isStopping) await sleep(ROUND_MS_MIN);
      await this.#sleep();
    }
    await releaseFollower(this.#means.database, this.#key).catch(() => undefined);
  }

  #isPaused(): boolean {
    return this.#isStopping || this.#means.reasons.size > 0;
  }

  async #sleep(): Promise<void> {
    if (this.#isStopping || this.#isAnnounced) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, POLL_MS);
      this.#endSleep = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endSleep = undefined;
  }

  /** Handles all events that are there, if this process holds the follower. */
  async #round(): Promise<void> {
    if (this.#isPaused()) return;
    const { database } = this.#means;
    // In this order: whoever wrote an event up to this id is among the writers, or has ended.
    const upTo = await lastEventId(database);
    const held = await holdFollower(database, this.#key);
    this.#isHolder = held !== undefined;
    if (!held || held.position >= upTo || performance.now() < this.#retryAt) return;
    const renewing = setInterval(() => this.#renew(), RENEW_MS);
    try {
      if (await this.#haveEnded(await openWriters(database))) await this.#handleAll(held, upTo);
    } finally {
      clearInterval(renewing);
      await this.#renewal;
    }
  }

  #renew(): void {
    this.#renewal = holdFollower(this.#means.database, this.#key).catch(() => undefined);
  }

  /** Waits until all these transactions have ended; false: it has to pause before. */
  async #haveEnded(writers: readonly string[]): Promise<boolean> {
    const { database, log } = this.#means;
    const startedAt = performance.now();
    let isReported = false;
    for (let waitMs = ENDED_MS_MIN; !this.#isPaused(); waitMs = Math.min(waitMs * 2, ENDED_MS_MAX)) {
      if (await haveEnded(database, writers)) return true;
      if (!isReported && performance.now() - startedAt > WRITING_MS_MAX) {
        isReported = true;
        log.warn('events.held_up', { follower: this.#key.name, ...(await oldestWriter(database)) });
      }
      await sleep(waitMs);
    }
    return false;
  }

  async #handleAll(held: { readonly position: bigint; readonly failures: number }, upTo: bigint): Promise<void> {
    const { database } = this.#means;
    let { position, failures } = held;
    while (position < upTo && !this.#isPaused()) {
      const max = this.follower.batch ?? BATCH;
      const events = await readEvents(database, { after: position, upTo, max });
      if (!(await this.#isHandled(events, failures))) return;
      failures = 0;
      const to = events.length < max ? upTo : (events.at(-1)?.id ?? upTo);
      if (!(await moveFollower(database, this.#key, { from: position, to }))) return;
      position = to;
    }
  }

  async #isHandled(events: readonly RecordedEvent[], failuresBefore: number): Promise<boolean> {
    const { database, log } = this.#means;
    const { follower } = this;
    if (events.length === 0) return true;
    try {
      await follower.handle(events);
      return true;
    } catch (error) {
      const message = messageOf(error);
      const failures = failuresBefore + 1;
      const pauseMs = Math.min(FAILURE_PAUSE_MS * 2 ** failures, FAILURE_PAUSE_MS_MAX);
      log.warn('events.handler_failed', { follower: follower.name, owner: follower.owner, failures, pauseMs, message });
      this.#retryAt = performance.now() + pauseMs;
      await recordFailure(database, this.#key, message);
      return false;
    }
  }
}
