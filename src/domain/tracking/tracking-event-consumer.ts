/**
 * Moves tracking events on, soon after they are written down and for as long as the process lives. Every process that serves
 * links has one; they take turns by a lock, so that what a process leaves behind when it dies is moved by the others.
 */
import type { Context } from '../context.ts';
import { messageOf } from '../../lib/errors.ts';
import type { LogFields } from '../../lib/log.ts';
import { isFaultOfData, takeApart } from './unprocessable-events.ts';
import { trackingEventsWait } from './move-tracking-events-store.ts';
import { moveTrackingEvents, MOVE_SIZE_MAX } from './move-tracking-events.ts';
import { makeThisMonth, mayLackPartition } from './partitions.ts';

export interface TrackingEventConsumer {
  /** Something was written: it is moved on within half a second. */
  wake(): void;
  /** How long the oldest tracking event has waited, as far as this process knows: it hears nothing of those that another moves. */
  lagMs(): number;
  /** Moves what this process has written, as far as it can be done soon, and ends. */
  close(): Promise<void>;
}

/** A report is never a second behind, and many at once are cheaper: at 4,000 a slice half of what they cost at 500. */
const PACE_MS = 400;
/** An operator should know; said as often at most. */
const BEHIND_MS = 10_000;
/** What another process left behind. */
const LOOK_MS = 2_000;
/**
 * Those who wait for their answers come before reports: between slices of a crowd it rests four times as long as a slice
 * took, a fifth of a core; and once reports are five seconds behind, as long as a slice took.
 */
const REST_SLICES = 4;
const REST_SLICES_LATE = 1;
const LATE_MS = 5_000;
const REST_MS_MAX = 1_000;
/** After something went wrong: the database restarts, or somebody holds a lock. */
const RETRY_MS = 1_000;
/** Rows that were committed late have smaller ids than some that are gone already. */
const FROM_START_MS = 30_000;
/** As many as could be under way while a later one was moved. */
const IDS_BACK = 1_000n;
/** A shutdown waits no longer: what is left is moved by the next process. */
const CLOSE_MS = 2_000;

/** Starts following through `ctx`, which stays open until `close`. */
export function startTrackingEventConsumer(ctx: Context): TrackingEventConsumer {
  const follower = new Follower(ctx);
  follower.begin();
  return follower;
}

class Follower implements TrackingEventConsumer {
  readonly #ctx: Context;
  #isWoken = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;
  #moving: Promise<void> | undefined;
  #fromId = 0n;
  #fromStartAt = performance.now() + FROM_START_MS;
  #sizeMax = MOVE_SIZE_MAX;
  #hasMadePartition = false;
  /** Since when the oldest one waits, by the monotonic clock; undefined when none does. */
  #oldestAt: number | undefined;
  #warnedAt = -Infinity;

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  begin(): void {
    this.#plan(0);
  }

  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    if (!this.#moving) this.#plan(PACE_MS);
  }

  lagMs(): number {
    return this.#oldestAt === undefined ? 0 : performance.now() - this.#oldestAt;
  }

  async close(): Promise<void> {
    const until = performance.now() + CLOSE_MS;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#moving;
    while (this.#isWoken && performance.now() < until && (await this.#step())) continue;
  }

  /** Not before `delayMs`, unless something is due sooner. */
  #plan(delayMs: number): void {
    const dueAt = performance.now() + delayMs;
    if (this.#closed || dueAt >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#dueAt = Infinity;
      this.#moving = this.#run().finally(() => {
        this.#moving = undefined;
        this.#plan(this.#isWoken ? PACE_MS : LOOK_MS);
      });
    }, delayMs);
    this.#timer.unref();
  }

  /** Until nothing is left, or something is wrong. */
  async #run(): Promise<void> {
    const isSure = this.#isWoken;
    this.#isWoken = false;
    try {
      if (performance.now() >= this.#fromStartAt) this.#fromStart();
      if (!isSure && !(await trackingEventsWait(this.#ctx, this.#fromId))) return;
      for (let from = performance.now(); !this.#closed && (await this.#step()); from = performance.now()) {
        const sliceMs = performance.now() - from;
        await rest(restMs({ sliceMs, lagMs: this.lagMs(), isOverloaded: this.#isWoken }));
        // Whatever woke us is there for the next step to see; what comes while that works wakes us again.
        this.#isWoken = false;
      }
    } catch (error) {
      this.#isWoken = true;
      this.#oldestAt ??= performance.now();
      this.#warn('tracking.move_failed', { message: messageOf(error) });
      await rest(RETRY_MS);
    }
  }

  /** Moves one slice; answers whether there was more. Throws what a later try may do better. */
  async #step(): Promise<boolean> {
    try {
      const fromId = this.#fromId;
      const { firstId, isAnotherAtIt, isMore, lagMs } = await moveTrackingEvents(this.#ctx, {
        fromId,
        sizeMax: this.#sizeMax,
      });
      // Ours may be among those that the other has not looked at.
      if (isAnotherAtIt) this.#isWoken = true;
      if (firstId !== undefined && firstId > IDS_BACK) this.#fromId = firstId - IDS_BACK;
      this.#sizeMax = Math.min(this.#sizeMax * 4, MOVE_SIZE_MAX);
      this.#hasMadePartition = false;
      this.#noteLag(isMore, lagMs);
      return isMore;
    } catch (error) {
      await this.#mend(error);
      return true;
    }
  }

  /** Does what lets the next step go on. Throws the error where nothing can be done. */
  async #mend(error: unknown): Promise<void> {
    if (mayLackPartition(error) && !this.#hasMadePartition) {
      this.#hasMadePartition = true;
      return makeThisMonth(this.#ctx);
    }
    if (!isFaultOfData(error)) throw error;
    // One bad tracking event must not hold up the others: it is found by taking fewer at a time, and dropped at last.
    this.#fromStart();
    if (this.#sizeMax === 1) await takeApart(this.#ctx, error);
    this.#sizeMax = 1;
  }

  #noteLag(isMore: boolean, lagMs: number): void {
    this.#oldestAt = isMore ? performance.now() - lagMs : undefined;
    if (lagMs >= BEHIND_MS) this.#warn('tracking.behind', { seconds: Math.round(lagMs / 1_000) });
  }

  /** Not every second, for as long as it lasts. */
  #warn(event: string, fields: LogFields): void {
    const now = performance.now();
    if (now - this.#warnedAt < BEHIND_MS) return;
    this.#warnedAt = now;
    this.#ctx.log.warn(event, fields);
  }

  #fromStart(): void {
    this.#fromId = 0n;
    this.#fromStartAt = performance.now() + FROM_START_MS;
  }
}

/** How long to rest after a slice. Nobody waits for an answer when nothing was written meanwhile. */
export function restMs({
  sliceMs,
  lagMs,
  isOverloaded,
}: {
  sliceMs: number;
  lagMs: number;
  isOverloaded: boolean;
}): number {
  if (!isOverloaded) return 0;
  return Math.min(sliceMs * (lagMs < LATE_MS ? REST_SLICES : REST_SLICES_LATE), REST_MS_MAX);
}

function rest(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
