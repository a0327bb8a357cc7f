/**
 * Moves people through flows, one in each process with the role `worker`: wakes by a notification and each second, and works until
 * nothing is due (D88, D89). There is no leader: a node is worked on by one process at a time, and rows that another one holds are
 * passed over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { advanceDue } from './advance-due.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { runTriggers } from '../triggers/run-triggers.ts';
import { secondsOverdue } from '../runs/node-store.ts';
import { watchOutage } from './watch-outage.ts';

export interface FlowWaker {
  /** Something has become due. */
  wake(): void;
  /** Moves nobody as long as there is a reason. */
  pause(reason: string): void;
  resume(reason: string): void;
  /** Begins no further batch. */
  beginStop(): void;
  /** The same, and waits for the batch that is being moved, at most `graceMs`. What is cut off has not happened. */
  stop(graceMs: number): Promise<void>;
}

/** Notifications may get lost, and waits end without one. */
const TICK_MS = 1_000;
/** Whoever is late by more is told (D89). */
const LATE_SECONDS = 60;
/** How often it is noted that flows are worked on; an outage is an hour. */
const WATCH_MS = 60_000;
/** So often all triggers are looked at: thousands of them take some ten milliseconds. Between, those that changes of people concern. */
const ALL_TRIGGERS_MS = 10_000;
/** As often as that. */
const COMPLAINT_MS = 60_000;

/** Starts it: steps of flows, and beside them the triggers that look at people, so that neither waits for the other. */
export function startFlowWaker(ctx: Context, pausedFor?: string): FlowWaker {
  const wakers = [advanceDue, runTriggers].map((work) => new Waker(ctx, work, pausedFor));
  for (const waker of wakers) waker.start();
  return {
    wake: () => wakers.forEach((waker) => waker.wake()),
    pause: (reason) => wakers.forEach((waker) => waker.pause(reason)),
    resume: (reason) => wakers.forEach((waker) => waker.resume(reason)),
    beginStop: () => wakers.forEach((waker) => waker.beginStop()),
    stop: async (graceMs) => void (await Promise.all(wakers.map((waker) => waker.stop(graceMs)))),
  };
}

class Waker implements FlowWaker {
  readonly #ctx: Context;
  readonly #work: typeof advanceDue;
  readonly #pausedFor = new Set<string>();
  #isStopping = false;
  #isWanted = false;
  #watchedAt = -Infinity;
  #lookedAtAll = -Infinity;
  #running: Promise<void> | undefined;
  #tick: NodeJS.Timeout | undefined;
  #lateCheck: NodeJS.Timeout | undefined;

  constructor(ctx: Context, work: typeof advanceDue, pausedFor?: string) {
    this.#ctx = ctx;
    this.#work = work;
    if (pausedFor !== undefined) this.#pausedFor.add(pausedFor);
  }

  start(): void {
    this.#tick = setInterval(() => this.wake(), TICK_MS);
    if (this.#work === advanceDue) this.#lateCheck = setInterval(() => void this.#complainIfLate(), COMPLAINT_MS);
    this.wake();
  }

  wake(): void {
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  pause(reason: string): void {
    this.#pausedFor.add(reason);
  }

  resume(reason: string): void {
    this.#pausedFor.delete(reason);
    this.wake();
  }

  beginStop(): void {
    this.#isStopping = true;
    clearInterval(this.#tick);
    clearInterval(this.#lateCheck);
  }

  async stop(graceMs: number): Promise<void> {
    this.beginStop();
    const late = new AbortController();
    await Promise.race([this.#running, sleep(graceMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }

  #isPaused(): boolean {
    return this.#isStopping || this.#pausedFor.size > 0;
  }

  /** Never rejects. What failed is tried again at the next tick. */
  async #run(): Promise<void> {
    const { log } = this.#ctx;
    try {
      while (this.#isWanted && !this.#isPaused()) {
        this.#isWanted = false;
        const isQuick = performance.now() - this.#lookedAtAll < ALL_TRIGGERS_MS;
        if (!isQuick) this.#lookedAtAll = performance.now();
        await this.#work(this.#ctx, { now: () => this.#lookAt(), isStopping: () => this.#isPaused(), isQuick });
      }
    } catch (error) {
      log.warn('automations.not_advanced', { message: messageOf(error) });
    }
  }

  /** The time of a look. Work may go on for hours: the watch goes on with it. */
  async #lookAt(): Promise<Date> {
    if (this.#work === advanceDue) await this.#watch();
    return databaseNow(this.#ctx.db);
  }

  /** Before anything is moved: what an outage made late is not sent without asking. */
  async #watch(): Promise<void> {
    const now = performance.now();
    if (now - this.#watchedAt < WATCH_MS) return;
    await watchOutage(this.#ctx);
    this.#watchedAt = now;
  }

  async #complainIfLate(): Promise<void> {
    const { db, log } = this.#ctx;
    if (this.#isPaused()) return;
    try {
      const seconds = Math.round(await secondsOverdue(db));
      if (seconds > LATE_SECONDS) log.warn('automations.late', { seconds });
    } catch (error) {
      log.warn('automations.not_watched', { message: messageOf(error) });
    }
  }
}
