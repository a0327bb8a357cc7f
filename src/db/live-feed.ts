/**
 * Values that people watch while they change. However many watch one subject, and however often it changes, a process reads it
 * once per change and at most once per interval, and keeps one value of it: a slow reader costs nothing and misses only outdated
 * values.
 */
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Notifications } from './listen.ts';

export interface LiveFeed<Subject, Value> {
  /** The value now, then the newest after each change, until the reader returns, the subject is gone or the feed closes. */
  watch(subject: Subject): AsyncIterableIterator<Value>;
  /** Ends every watch. */
  close(): void;
}

/** What is known when a value is read again. */
export interface Since<Value> {
  /** The value before. */
  readonly last: Value | undefined;
  /** What was announced since then; null: anything may have changed. */
  readonly payloads: readonly string[] | null;
}

export interface FeedSource<Subject, Value> {
  /** Where changes are announced; none: the value is only read every `rereadMs`. */
  readonly channels: readonly string[];
  keyOf(subject: Subject): string;
  /** The key of the subject that a payload is about; absent: the payload is the key. */
  keyIn?(payload: string): string;
  /** Reads the value; undefined: the subject is gone. */
  read(subject: Subject, since: Since<Value>): Promise<Value | undefined>;
  /** Whether watchers who have `before` need no event for `after`; absent: each reading is an event. */
  isSame?(before: Value, after: Value): boolean;
  /** The shortest time between two readings of one subject. */
  readonly intervalMs: number;
  /** Read again this often: a notification can be lost while a connection is made. */
  readonly rereadMs?: number;
}

/** Announcements that are remembered between two readings; of more than these anything may have changed. */
const PAYLOADS_MAX = 1_000;
/** A reading that fails is tried again after pauses that double up to this: a page is current within seconds once it works again. */
const RETRY_MS_MAX = 10_000;

interface Subscribed<Subject, Value> {
  readonly key: string;
  readonly subject: Subject;
  /** Wakes the watchers that wait. */
  waiting: Set<() => void>;
  watchers: number;
  version: number;
  latest: Value | undefined;
  isGone: boolean;
  isDirty: boolean;
  announced: Set<string> | null;
  timer: NodeJS.Timeout | undefined;
  isReading: boolean;
  /** Readings that failed since the last one that did not. */
  failures: number;
}

/** A function that answers the process's feed on these notifications, opened at the first call. */
export function sharedFeed<Means extends { readonly log: Log }, Subject, Value>(
  sourceOf: (means: Means) => FeedSource<Subject, Value>,
): (means: Means, notifications: Notifications) => LiveFeed<Subject, Value> {
  const feeds = new WeakMap<Notifications, LiveFeed<Subject, Value>>();
  return (means, notifications) => {
    const known = feeds.get(notifications);
    if (known) return known;
    const feed = openFeed(sourceOf(means), notifications, means.log);
    feeds.set(notifications, feed);
    return feed;
  };
}

/** Opens a feed; it listens from now on. */
export function openFeed<Subject, Value>(
  source: FeedSource<Subject, Value>,
  notifications: Notifications,
  log: Log,
): LiveFeed<Subject, Value> {
  return new ListeningFeed(source, notifications, log);
}

class ListeningFeed<Subject, Value> implements LiveFeed<Subject, Value> {
  readonly #source: FeedSource<Subject, Value>;
  readonly #log: Log;
  readonly #subscribed = new Map<string, Subscribed<Subject, Value>>();
  readonly #stops: readonly (() => void)[];
  readonly #rereading: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(source: FeedSource<Subject, Value>, notifications: Notifications, log: Log) {
    this.#source = source;
    this.#log = log;
    this.#stops = source.channels.map((channel) =>
      notifications.listen(channel, (payload) => {
        // null: something was missed.
        if (payload === null) this.#touchAll();
        else this.#touch(this.#subscribed.get(source.keyIn?.(payload) ?? payload), payload);
      }),
    );
    const { rereadMs } = source;
    this.#rereading = rereadMs === undefined ? undefined : setInterval(() => this.#touchAll(), rereadMs).unref();
  }

  watch(subject: Subject): AsyncIterableIterator<Value> {
    return watchOne({
      enter: () => this.#enter(subject),
      leave: (one) => this.#leave(one),
      isClosed: () => this.#isClosed,
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stops) stop();
    clearInterval(this.#rereading);
    for (const one of this.#subscribed.values()) {
      clearTimeout(one.timer);
      wake(one);
    }
  }

  #touchAll(): void {
    for (const one of this.#subscribed.values()) this.#touch(one, null);
  }

  #touch(one: Subscribed<Subject, Value> | undefined, payload: string | null): void {
    if (!one) return;
    one.isDirty = true;
    if (payload === null || (one.announced?.size ?? 0) >= PAYLOADS_MAX) one.announced = null;
    else one.announced?.add(payload);
    if (one.timer === undefined && !one.isReading) void this.#refresh(one);
  }

  async #refresh(one: Subscribed<Subject, Value>): Promise<void> {
    const { announced, latest: last } = one;
    one.isDirty = false;
    one.isReading = true;
    one.announced = new Set();
    try {
      const value = await this.#source.read(one.subject, { last, payloads: announced && [...announced] });
      one.isGone = value === undefined;
      one.failures = 0;
      if (last === undefined || value === undefined || !this.#source.isSame?.(last, value)) publish(one, value);
    } catch (error) {
      one.isDirty = true;
      one.announced = null;
      one.failures += 1;
      this.#log.warn('live.read_failed', { subject: one.key, message: messageOf(error) });
    }
    one.isReading = false;
    if (one.watchers === 0 || this.#isClosed) return;
    one.timer = setTimeout(() => {
      one.timer = undefined;
      if (one.isDirty) void this.#refresh(one);
    }, this.#pauseMs(one));
  }

  #pauseMs({ failures }: Subscribed<Subject, Value>): number {
    const { intervalMs } = this.#source;
    return failures === 0 ? intervalMs : Math.max(intervalMs, Math.min(intervalMs * 2 ** failures, RETRY_MS_MAX));
  }

  #enter(subject: Subject): Subscribed<Subject, Value> {
    const key = this.#source.keyOf(subject);
    const known = this.#subscribed.get(key);
    // One that is gone is read anew: its key may be that of another one now.
    const one = known && !known.isGone ? known : newSubscribed<Subject, Value>(key, subject);
    this.#subscribed.set(key, one);
    one.watchers += 1;
    if (one.watchers === 1) this.#touch(one, null);
    return one;
  }

  #leave(one: Subscribed<Subject, Value>): void {
    one.watchers -= 1;
    if (one.watchers > 0) return;
    clearTimeout(one.timer);
    if (this.#subscribed.get(one.key) === one) this.#subscribed.delete(one.key);
  }
}

interface Entrance<Subject, Value> {
  readonly enter: () => Subscribed<Subject, Value>;
  readonly leave: (one: Subscribed<Subject, Value>) => void;
  readonly isClosed: () => boolean;
}

/** A hand-written iterator: `return` ends a waiting `next`, which a generator cannot do. */
function watchOne<Subject, Value>({ enter, leave, isClosed }: Entrance<Subject, Value>): AsyncIterableIterator<Value> {
  const one = enter();
  let seen = 0;
  let hasEnded = false;
  let wakeUp: (() => void) | undefined;

  function end(): IteratorReturnResult<undefined> {
    if (!hasEnded) leave(one);
    hasEnded = true;
    wakeUp?.();
    return { done: true, value: undefined };
  }

  return {
    async next() {
      while (!hasEnded && !isClosed() && one.version === seen) {
        await new Promise<void>((resolve) => {
          wakeUp = resolve;
          one.waiting.add(resolve);
        });
        if (wakeUp) one.waiting.delete(wakeUp);
      }
      if (hasEnded || isClosed() || one.isGone || one.latest === undefined) return end();
      seen = one.version;
      return { done: false, value: one.latest };
    },
    async return() {
      return end();
    },
    async throw(error: unknown) {
      end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function publish<Subject, Value>(one: Subscribed<Subject, Value>, value: Value | undefined): void {
  one.latest = value;
  one.version += 1;
  wake(one);
}

function wake({ waiting }: Subscribed<unknown, unknown>): void {
  const woken = [...waiting];
  waiting.clear();
  for (const resume of woken) resume();
}

function newSubscribed<Subject, Value>(key: string, subject: Subject): Subscribed<Subject, Value> {
  return {
    ...{ key, subject, waiting: new Set(), watchers: 0, version: 0, latest: undefined },
    ...{ isGone: false, isDirty: false, failures: 0, announced: null, timer: undefined, isReading: false },
  };
}
