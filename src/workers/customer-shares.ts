/**
 * Who may have how many of this process's places. A customer alone has all but one; the last place is kept for
 * somebody else, who so begins at once whatever the first is doing. Where several work, each has its equal part. Jobs
 * that can stop in the middle are asked to when others wait for their places.
 */
import type { EventEmitter } from 'node:events';
import { LONG_FLAG } from '../jobs/define-job.ts';

const CUSTOMER_FLAG = /^customer:/;
/** A job of a customer has its place for so long before it may be asked to stop. */
const SHARE_MS = 1_500;
/** A look-up that is not answered in this time does not hold up the others. */
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
  readonly #running = new Map<string, RunningJob>();
  /** Look-ups go one after the other: each must see what those before it have found. */
  #lookUpBefore: Promise<void> = Promise.resolve();
  #endLookUp: () => void = () => undefined;

  /** `concurrency` places for one customer; there is one more than that. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  get places(): number {
    return this.#concurrency + 1;
  }

  /** Gets the events of the pool's jobs. */
  follow(events: EventEmitter): void {
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
  }

  isRunning(jobId: string): boolean {
    return this.#running.has(jobId);
  }

  /** Flags of the jobs that a free place must not run now; waits until the previous look-up has ended. */
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
    // While more than the last place is free, any job may have it.
    const customers = free > 1 ? [] : [...byCustomer].filter(([, count]) => count >= share).map(([flag]) => flag);
    const isFullOfLong = this.#count(({ isLong }) => isLong) >= Math.max(1, Math.floor(this.#concurrency / 2));
    return isFullOfLong ? [...customers, LONG_FLAG] : customers;
  }

  /** The job can stop in the middle: `yieldSlot` is called when somebody else needs its place. */
  canYield(jobId: string, yieldSlot: () => void): void {
    const job = this.#running.get(jobId);
    if (job) job.yieldSlot = yieldSlot;
  }

  /** Customers with a place, when none is left; else nobody has to wait. */
  crowdedOut(): string[] {
    return this.#running.size < this.places ? [] : [...this.#placesByCustomer().keys()];
  }

  /** Others wait: the customer with the most places gives up the one it has had longest. Answers whether one was asked. */
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
