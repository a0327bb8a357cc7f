/**
 * How many of this process's places each customer may have. A customer alone has all but one; the last place is free for another
 * one, who so starts at once. With several customers, each has an equal part. Jobs that can stop in the middle are asked to when
 * others wait for a place.
 */
import type { EventEmitter } from 'node:events';
import { LONG_FLAG } from '../jobs/define-job.ts';
import type { PluginPlaces } from './plugin-places.ts';

const CUSTOMER_FLAG = /^customer:/;
/** How long a job of a customer keeps its place before it may be asked to stop. */
const SHARE_MS = 1_500;
/** A look-up that takes longer does not hold up the others. */
const FETCH_MS_MAX = 1_000;

interface RunningJob {
  /** Undefined: of no customer. */
  readonly customer: string | undefined;
  readonly isLong: boolean;
  readonly startedAt: number;
  isAsked: boolean;
  yieldSlot: (() => void) | undefined;
}

interface JobLike {
  readonly id: string;
  readonly flags: Readonly<Record<string, true>> | null;
}

export class CustomerShares {
  readonly #concurrency: number;
  readonly #plugins: PluginPlaces;
  readonly #running = new Map<string, RunningJob>();
  /** Look-ups run one after the other: each must see what those before it found. */
  #lookUpBefore: Promise<void> = Promise.resolve();
  #endLookUp: () => void = () => undefined;

  /** `concurrency` places for one customer; there is one more. */
  constructor(concurrency: number, plugins: PluginPlaces) {
    this.#concurrency = concurrency;
    this.#plugins = plugins;
  }

  get places(): number {
    return this.#concurrency + 1;
  }

  /** Listens to the events of the pool's jobs. */
  listenTo(events: EventEmitter): void {
    this.#plugins.listenTo(events);
    events.on('job:start', ({ job }: { job: JobLike }) => {
      const flags = Object.keys(job.flags ?? {});
      this.#running.set(job.id, {
        customer: flags.find((flag) => CUSTOMER_FLAG.test(flag)),
        isLong: flags.includes(LONG_FLAG),
        startedAt: performance.now(),
        isAsked: false,
        yieldSlot: undefined,
      });
      this.#endLookUp();
    });
    events.on('job:complete', ({ job }: { job: JobLike }) => void this.leave(job.id));
    events.on('worker:getJob:empty', () => this.#endLookUp());
    events.on('worker:getJob:error', () => this.#endLookUp());
  }

  leave(jobId: string): void {
    this.#running.delete(jobId);
    this.#plugins.leave(jobId);
  }

  isRunning(jobId: string): boolean {
    return this.#running.has(jobId);
  }

  /** Flags of jobs that must not take a free place now; waits until the previous look-up has ended. */
  async forbiddenFlags(): Promise<string[]> {
    const before = this.#lookUpBefore;
    let end: () => void = () => undefined;
    this.#lookUpBefore = new Promise((resolve) => (end = resolve));
    await before;
    const late = setTimeout(end, FETCH_MS_MAX);
    this.#endLookUp = () => {
      clearTimeout(late);
      end();
    };
    return this.#forbidden();
  }

  #forbidden(): string[] {
    const free = this.places - this.#running.size;
    const byCustomer = this.#placesByCustomer();
    const share = this.#shareOf(byCustomer.size);
    // While more than one place is free, any job may take one.
    const customers = free > 1 ? [] : [...byCustomer].filter(([, count]) => count >= share).map(([flag]) => flag);
    const isFullOfLong = this.#count(({ isLong }) => isLong) >= Math.max(1, Math.floor(this.#concurrency / 2));
    return [...customers, ...(isFullOfLong ? [LONG_FLAG] : []), ...this.#plugins.forbidden()];
  }

  /** The job can stop in the middle: `yieldSlot` is called when another customer needs its place. */
  canYield(jobId: string, yieldSlot: () => void): void {
    const job = this.#running.get(jobId);
    if (job) job.yieldSlot = yieldSlot;
  }

  /** Customers with a place, when none is free; else nobody has to wait. */
  crowdedOut(): string[] {
    return this.#running.size < this.places ? [] : [...this.#placesByCustomer().keys()];
  }

  /** The customer with the most places gives up the one it has had longest. Returns whether a job was asked to stop. */
  yieldSlot(): boolean {
    const now = performance.now();
    const byCustomer = this.#placesByCustomer();
    const candidates = [...this.#running.values()].filter(
      (job) => job.yieldSlot && !job.isAsked && now - job.startedAt > SHARE_MS,
    );
    candidates.sort(
      (a, b) =>
        (byCustomer.get(b.customer ?? '') ?? 0) - (byCustomer.get(a.customer ?? '') ?? 0) || a.startedAt - b.startedAt,
    );
    const chosen = candidates[0];
    if (!chosen) return false;
    chosen.isAsked = true;
    chosen.yieldSlot?.();
    return true;
  }

  #shareOf(customers: number): number {
    return Math.max(1, Math.ceil(this.#concurrency / Math.max(1, customers)));
  }

  #placesByCustomer(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { customer } of this.#running.values())
      if (customer !== undefined) counts.set(customer, (counts.get(customer) ?? 0) + 1);
    return counts;
  }

  #count(is: (job: RunningJob) => boolean): number {
    return [...this.#running.values()].filter(is).length;
  }
}
