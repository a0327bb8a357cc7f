/**
 * Moves tracking events soon after they are stored, as long as the process lives. Every process has one, workers too; a lock lets
 * one work at a time, so that events of a dead process are moved by the others.
 */
import type { Context } from '../context.ts';
import { messageOf } from '../../lib/errors.ts';
import type { LogFields } from '../../lib/log.ts';
import { isFaultOfData, takeApart } from './unprocessable-events.ts';
import { trackingEventsWait } from './move-tracking-events-store.ts';
import { moveTrackingEvents, MOVE_SIZE_MAX } from './move-tracking-events.ts';
import { makeThisMonth, mayLackPartition } from './partitions.ts';

export interface TrackingEventConsumer {
  /** Events were stored: they are moved within half a second. */
  wake(): void;
  /** How long the oldest tracking event has waited, as far as this process knows: not of those that another process moves. */
  lagMs(): number;
  /** Moves what this process has stored, as far as possible in a short time, and ends. */
  close(): Promise<void>;
}

/** Without load reports are under a second behind. Many at once are cheaper: at 4,000 per slice half of the cost at 500. */
const PACE_MS = 400;
/** From this delay on it is logged, at most this often. */
const BEHIND_MS = 10_000;
/** How often events of other processes are checked. */
const LOOK_MS = 2_000;
/**
 * Answers come before reports: under load it pauses four times as long as a slice took, which uses a fifth of a core; and once
 * reports are five seconds behind, as long as a slice took.
 */
const REST_SLICES = 4;
const REST_SLICES_LATE = 1;
const LATE_MS = 5_000;
const REST_MS_MAX = 1_000;
/** After an error: the database restarts, or a lock is held. */
const RETRY_MS = 1_000;
/** Rows that were committed late have smaller ids than some that were moved already. */
const FROM_START_MS = 30_000;
/** As many as could be uncommitted while a later one was moved. */
const IDS_BACK = 1_000n;
/** A shutdown waits no longer: the rest is moved by the next process. */
const CLOSE_MS = 2_000;

/** Starts with `ctx`, which stays open until `close`. */
export function startTrackingEventConsumer(ctx: Context): TrackingEventConsumer {
  const consumer = new Consumer(ctx);
  consumer.begin();
  return consumer;
}

class Consumer implements TrackingEventConsumer {
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

  /** Until nothing is left, or an error occurs. */
  async #run(): Promise<void> {
    const isSure = this.#isWoken;
    this.#isWoken = false;
    try {
      if (performance.now() >= this.#fromStartAt) this.#fromStart();
      if (!isSure && !(await trackingEventsWait(this.#ctx, this.#fromId))) return;
      for (let from = performance.now(); !this.#closed && (await this.#step()); from = performance.now()) {
        const sliceMs = performance.now() - from;
        await rest(restMs({ sliceMs, lagMs: this.lagMs(), isOverloaded: this.#isWoken }));
        // The next step sees everything stored before; later events wake it again.
        this.#isWoken = false;
      }
    } catch (error) {
      this.#isWoken = true;
      this.#oldestAt ??= performance.now();
      this.#warn('tracking.move_failed', { message: messageOf(error) });
      await rest(RETRY_MS);
    }
  }

  /** Moves one slice; returns whether there was more. Throws errors for which a later try may help. */
  async #step(): Promise<boolean> {
    try {
      const fromId = this.#fromId;
      const { firstId, isAnotherAtIt, isMore, lagMs } = await moveTrackingEvents(this.#ctx, {
        fromId,
        sizeMax: this.#sizeMax,
      });
      // Our events may be among those that the other process has not read.
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

  /** Handles an error so that the next step can continue. Throws it when nothing can be done. */
  async #mend(error: unknown): Promise<void> {
    if (mayLackPartition(error) && !this.#hasMadePartition) {
      this.#hasMadePartition = true;
      return makeThisMonth(this.#ctx);
    }
    if (!isFaultOfData(error)) throw error;
    // One bad tracking event must not block the others: it is found by smaller slices, and dropped at last.
    this.#fromStart();
    if (this.#sizeMax === 1) await takeApart(this.#ctx, error);
    this.#sizeMax = 1;
  }

  #noteLag(isMore: boolean, lagMs: number): void {
    this.#oldestAt = isMore ? performance.now() - lagMs : undefined;
    if (lagMs >= BEHIND_MS) this.#warn('tracking.behind', { seconds: Math.round(lagMs / 1_000) });
  }

  /** Not every second while it lasts. */
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

/** How long to pause after a slice. Nobody waits for an answer when nothing was stored meanwhile. */
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
