/** A vendor that posts events about messages to a webhook, as SparkPost does: so many a second, some in each request. */

export interface VendorLoad {
  /** Of the webhook, with its secret. */
  readonly url: string;
  /** Our ids of the messages that it reports about, one after the other. */
  readonly messages: readonly string[];
  readonly eventsPerSecond: number;
  /** Events a request. */
  readonly batch: number;
}

/** Posts are spread over the second. */
const TICK_MS = 10;
/** A vendor has so many connections; what it cannot post yet waits there. */
const REQUESTS_AT_ONCE_MAX = 50;
/** One message in so many; its sender was refused, so that nobody is suppressed. */
const REFUSED_EVERY = 20;
const REFUSED_CLASS = '25';

/** A vendor's own way: many events a request, no signature, a secret address. */
export class ReportingVendor {
  readonly #load: VendorLoad;
  readonly #underWay = new Set<Promise<void>>();
  #next = 0;
  #requests = 0;
  #refused = 0;
  #slowestMs = 0;
  #seconds = 0;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(given: VendorLoad) {
    this.#load = given;
  }

  start(): void {
    this.#startedAt = performance.now();
    let posted = 0;
    this.#timer = setInterval(() => {
      const due = ((performance.now() - this.#startedAt) / 1_000) * this.#load.eventsPerSecond;
      for (; posted + this.#load.batch <= due && this.#underWay.size < REQUESTS_AT_ONCE_MAX; posted += this.#load.batch)
        this.#track(this.#post());
    }, TICK_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#seconds += (performance.now() - this.#startedAt) / 1_000;
    await Promise.all(this.#underWay);
  }

  told(): string {
    const rate = (this.#requests * this.#load.batch) / this.#seconds;
    return `${this.#requests} requests, ${Math.round(rate)} events a second, ${this.#refused} not taken.`;
  }

  slowest(): number {
    return this.#slowestMs;
  }

  /** Different messages that were reported as refused. */
  refused(): number {
    const reported = Math.min(this.#next, this.#load.messages.length);
    return Math.ceil(reported / REFUSED_EVERY);
  }

  #track(post: Promise<void>): void {
    this.#underWay.add(post);
    void post.finally(() => this.#underWay.delete(post));
  }

  async #post(): Promise<void> {
    const startedAt = performance.now();
    const answer = await fetch(this.#load.url, { method: 'POST', body: JSON.stringify(this.#events()) });
    await answer.arrayBuffer();
    this.#requests += 1;
    if (answer.status !== 200) this.#refused += 1;
    this.#slowestMs = Math.max(this.#slowestMs, performance.now() - startedAt);
  }

  #events(): object[] {
    return Array.from({ length: this.#load.batch }, () => {
      const number = this.#next++;
      const id = this.#load.messages[number % this.#load.messages.length];
      const named = { event_id: `e${number}`, transmission_id: id, rcpt_meta: { mailwright_id: id } };
      const isRefused = number % REFUSED_EVERY === 0;
      const report = isRefused
        ? { type: 'bounce', ...named, bounce_class: REFUSED_CLASS, raw_reason: '550 5.7.1 not from you' }
        : { type: 'delivery', ...named };
      return { msys: { message_event: report } };
    });
  }
}
