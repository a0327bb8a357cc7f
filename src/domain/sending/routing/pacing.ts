/** The paces of one server for its gate: which buckets a window of messages needs, and what was not used. */
import type { Queryable } from '../../../db/database.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { limitFinder, type DomainLimits } from './domain-limits.ts';
import type { Line } from './line.ts';
import { paceWaitSeconds, recordWarmUp, takePaces, type PaceAnswer } from './pace-store.ts';
import type { Bucket, Pace, PaceQuestion, WarmUpState } from './paces.ts';
import type { WaitingRecipient, GateStop, Held } from './waiting.ts';

export interface PacedServer {
  readonly serverId: bigint;
  readonly quota: Pace | null;
  readonly domainLimits: DomainLimits;
  readonly warmUp: (WarmUpState & { readonly isStopped: boolean }) | undefined;
  /** Messages an hour of a customer's campaigns together; undefined: any number. */
  paceOfCustomer(customerId: bigint): number | undefined;
}

export interface PaceRequest<Recipient> {
  readonly customerId: bigint;
  readonly recipients: readonly Recipient[];
  readonly groupOf: (domain: string) => string;
  readonly line: Line;
}

export interface Paced<Recipient> {
  readonly go: readonly Recipient[];
  readonly later: readonly Held<Recipient>[];
  readonly stop: GateStop | undefined;
}

/** The pace of a server holds one second's worth, so that no window sees much more than the quota. */
const SERVER_BURST_SECONDS = 1;
/** A limit per hour: workers come irregularly, and what they miss within a minute is not lost. */
const HOURLY_BURST_SECONDS = 60;
const HOUR_SECONDS = 3_600;
/** A stopped warm-up waits for a person; the campaign checks again now and then. */
const STOPPED_WAIT_SECONDS = 60;
/** The longest wait: a limit may be lifted meanwhile. */
const WAIT_SECONDS_MAX = 600;
const REPORT_INTERVAL_MS = 250;
/** Providers for which unused tokens are kept. */
const RETURNED_MAX = 10_000;
const LIMIT_REASON = 'domain_limit';

export class Pacing {
  readonly #server: PacedServer;
  readonly #limitOf: ((group: string) => number | undefined) | undefined;
  readonly #serverBuckets: readonly Bucket[];
  readonly #report: ReturnType<typeof createWarmUpReporter>;
  /** Taken before and not used; returned with the next window. */
  readonly #returned = new Map<string, number>();
  #dayReturned = 0;
  #returning: NodeJS.Timeout | undefined;

  constructor(server: PacedServer) {
    const { serverId, quota } = server;
    this.#server = server;
    this.#limitOf = limitFinder(server.domainLimits);
    this.#report = createWarmUpReporter(server);
    this.#serverBuckets = quota
      ? [{ key: `server:${serverId}`, pace: quota, burstSeconds: SERVER_BURST_SECONDS, isOuter: true }]
      : [];
  }

  /** Some provider has a pace of its own. */
  get isByGroup(): boolean {
    return this.#limitOf !== undefined;
  }

  /** What holds all recipients back. Takes nothing. */
  async denial(db: Queryable, customerId: bigint): Promise<GateStop | undefined> {
    const { warmUp } = this.#server;
    if (warmUp?.isStopped) return { reason: 'paced', waitSeconds: STOPPED_WAIT_SECONDS };
    await this.#giveDayBack(db);
    const buckets = this.#outerFor(customerId);
    if (buckets.length === 0 && !warmUp) return undefined;
    const waitSeconds = await paceWaitSeconds(db, { buckets, warmUp });
    return waitSeconds > 0 ? paced(waitSeconds) : undefined;
  }

  /** Takes for as many recipients as the paces allow. */
  async take<Recipient extends WaitingRecipient>(
    db: Queryable,
    request: PaceRequest<Recipient>,
  ): Promise<Paced<Recipient>> {
    const { customerId, recipients, groupOf, line } = request;
    const { warmUp } = this.#server;
    const outer = this.#outerFor(customerId);
    if (recipients.length === 0 || (outer.length === 0 && !this.#limitOf && !warmUp))
      return { go: recipients, later: [], stop: undefined };
    const classes = classesOf(recipients, (domain) => this.#limitFor(groupOf(domain)));
    const limited = classes.flatMap(({ limit }) =>
      limit ? [hourly(this.#groupKey(limit.group), limit.perHour, false)] : [],
    );
    let place = outer.length;
    const answer = await this.#ask(db, {
      buckets: [...outer, ...limited],
      classes: classes.map(({ limit, members }) => ({ wanted: members.length, bucket: limit ? place++ : undefined })),
      warmUp,
    });
    return shareOut(recipients.length, classes, { answer, line });
  }

  /** They had taken tokens and were not sent. */
  giveBack(recipients: readonly WaitingRecipient[], groupOf: (domain: string) => string): void {
    for (const { key } of this.#serverBuckets) add(this.#returned, key, recipients.length);
    // Buckets fill up again anyway.
    if (this.#returned.size > RETURNED_MAX) this.#returned.clear();
    for (const { domain } of recipients) {
      const limit = this.#limitFor(groupOf(domain));
      if (limit) add(this.#returned, this.#groupKey(limit.group), 1);
    }
    if (this.#server.warmUp) this.#dayReturned += recipients.length;
  }

  /** The outcome of one that was sent. */
  ended(ctx: Context, end: { isSent: boolean; isHardBounce: boolean }): void {
    if (this.#server.warmUp) this.#report(ctx, end);
    if (this.#dayReturned > 0) this.#giveDayBackSoon(ctx);
  }

  /** If a day looked used up, all would go to another server, or wait until tomorrow: nobody would take from it again. */
  async #giveDayBack(db: Queryable): Promise<void> {
    const { warmUp } = this.#server;
    if (this.#dayReturned > 0 && warmUp) await this.#ask(db, { buckets: [], classes: [], warmUp });
  }

  #giveDayBackSoon({ database, log }: Context): void {
    if (this.#returning) return;
    this.#returning = setTimeout(() => {
      this.#returning = undefined;
      this.#giveDayBack(database).catch((error: unknown) =>
        log.warn('sending.day_not_returned', { message: messageOf(error) }),
      );
    }, REPORT_INTERVAL_MS).unref();
  }

  /** Returns unused tokens with the question; what could not be returned is returned with the next. */
  async #ask(db: Queryable, question: Omit<PaceQuestion, 'returned' | 'dayReturned'>): Promise<PaceAnswer> {
    const unused = this.#whatWasNotUsed(question.buckets);
    try {
      return await takePaces(db, { ...question, ...unused });
    } catch (error) {
      for (const [key, count] of unused.returned) add(this.#returned, key, count);
      this.#dayReturned += unused.dayReturned;
      throw error;
    }
  }

  #outerFor(customerId: bigint): readonly Bucket[] {
    const perHour = this.#server.paceOfCustomer(customerId);
    if (perHour === undefined) return this.#serverBuckets;
    return [...this.#serverBuckets, hourly(`customer:${customerId}`, perHour, true)];
  }

  #limitFor(group: string): Limit | undefined {
    const perHour = this.#limitOf?.(group);
    return perHour === undefined ? undefined : { group, perHour };
  }

  #groupKey(group: string): string {
    return `domain:${this.#server.serverId}:${group}`;
  }

  #whatWasNotUsed(buckets: readonly Bucket[]): Pick<PaceQuestion, 'returned' | 'dayReturned'> {
    const returned = new Map<string, number>();
    for (const { key } of buckets) {
      const count = this.#returned.get(key);
      if (count === undefined) continue;
      returned.set(key, count);
      this.#returned.delete(key);
    }
    const dayReturned = this.#dayReturned;
    this.#dayReturned = 0;
    return { returned, dayReturned };
  }
}

/** Decides who goes and who waits for the limit of their provider; the others stay with the loop. */
function shareOut<Recipient extends WaitingRecipient>(
  total: number,
  classes: readonly RecipientClass<Recipient>[],
  { answer, line }: { answer: PaceAnswer; line: Line },
): Paced<Recipient> {
  const go: Recipient[] = [];
  const later: Held<Recipient>[] = [];
  for (const [no, { limit, members }] of classes.entries()) {
    const granted = answer.granted[no] ?? 0;
    go.push(...members.slice(0, granted));
    if (!limit) continue;
    // Those between the granted number and their own limit wait for the server.
    for (const recipient of members.slice(Math.max(granted, answer.classRemaining[no] ?? 0))) {
      const delaySeconds = line.place(limit.group, 0, HOUR_SECONDS / limit.perHour);
      later.push({ recipient, delaySeconds, reason: LIMIT_REASON });
    }
  }
  const isStopped = answer.stoppedBy !== null && go.length + later.length < total;
  return { go, later, stop: isStopped ? paced(answer.waitSeconds) : undefined };
}

function paced(waitSeconds: number): GateStop {
  return { reason: 'paced', waitSeconds: Math.min(Math.max(1, waitSeconds), WAIT_SECONDS_MAX) };
}

function hourly(key: string, perHour: number, isOuter: boolean): Bucket {
  return { key, pace: { value: perHour, periodSeconds: HOUR_SECONDS }, burstSeconds: HOURLY_BURST_SECONDS, isOuter };
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

interface Limit {
  readonly group: string;
  readonly perHour: number;
}

interface RecipientClass<Recipient> {
  readonly limit: Limit | undefined;
  readonly members: Recipient[];
}

/** Recipients by their common limit; those without one are one class. */
function classesOf<Recipient extends WaitingRecipient>(
  recipients: readonly Recipient[],
  limitFor: (domain: string) => Limit | undefined,
): RecipientClass<Recipient>[] {
  const classes = new Map<string, RecipientClass<Recipient>>();
  for (const recipient of recipients) {
    const limit = limitFor(recipient.domain);
    const key = limit?.group ?? '';
    const found = classes.get(key) ?? { limit, members: [] };
    classes.set(key, found);
    found.members.push(recipient);
  }
  return [...classes.values()];
}

/** Counts what a server in warm-up sent and what bounced, and writes it a few times a second at most. */
function createWarmUpReporter({
  serverId,
}: PacedServer): (ctx: Context, end: { isSent: boolean; isHardBounce: boolean }) => void {
  let sent = 0;
  let bounced = 0;
  let timer: NodeJS.Timeout | undefined;
  return ({ database, log }, end) => {
    if (end.isSent) sent += 1;
    if (end.isHardBounce) bounced += 1;
    if (sent + bounced === 0) return;
    timer ??= setTimeout(() => {
      const counts = { sent, bounced };
      timer = undefined;
      sent = 0;
      bounced = 0;
      recordWarmUp(database, serverId, counts).catch((error: unknown) =>
        log.warn('sending.warm_up_unknown', { message: messageOf(error) }),
      );
    }, REPORT_INTERVAL_MS).unref();
  };
}
