/**
 * The sender of messages that are not of a campaign, one in each process with the role `worker`: takes what is due, by priority and of
 * each customer some, and sends several at a time. It wakes by a notification and by a clock. The ledger decides what went out; the
 * queue only says what to look at.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import type { DriverPool } from '../../sending/driver-pool.ts';
import { RENEWALS_PER_LEASE } from '../ledger/delivery.ts';
import { FlowCaps } from '../flow-mails/flow-caps.ts';
import { FlowBudget } from '../flow-mails/flow-budget.ts';
import { MailsWithFiles } from './mails-with-files.ts';
import { MessagePlaces } from './message-places.ts';
import { createMessageRecorder, type MessageRecorder } from './message-recorder.ts';
import { freeMessagesOfDead, renewMessages, returnMessages } from './message-lease-store.ts';
import { takeMessages, type TakenMessage, type Taking } from './message-queue-store.ts';
import { sendMessage } from './send-message.ts';

export interface MessageSender {
  /** Something was enqueued. */
  wake(): void;
  /** Begins with no message as long as there is a reason. */
  pause(reason: string): void;
  resume(reason: string): void;
  /** Begins with no further message and puts back what is not marked. */
  beginStop(): void;
  /** The same, and waits for those in flight, at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

interface Means {
  readonly ctx: Context;
  readonly drivers: DriverPool;
  /** The name of this process in leases; it must be held as long as the process lives. */
  readonly workerId: string;
  readonly pausedFor?: string | undefined;
}

/** Notifications may get lost, messages become due, and what dead processes had must be found. */
const TICK_MS = 1_000;
/** Rounds begin so far apart while something is under way: a round for each message that ends would cost more than the messages. */
const ROUND_MS = 5;
/** Texts that came with the call, in characters: such mails are as large as those with files. */
const LARGE_TEXT = 524_288;

/** Starts it. */
export function startMessageSender(means: Means): MessageSender {
  const sender = new Sender(means);
  sender.start();
  return sender;
}

class Sender implements MessageSender {
  readonly #means: Means;
  readonly #recorder: MessageRecorder;
  readonly #holder: { readonly owner: string; readonly leaseSeconds: number };
  readonly #reasons = new Set<string>();
  readonly #places = new MessagePlaces();
  readonly #budget: FlowBudget;
  readonly #caps: FlowCaps;
  #isStopping = false;
  #isTaking = false;
  /** Look again when the present look has ended. */
  #isWanted = false;
  /** The last look left something behind. */
  #isFull = false;
  /** It may have taken less of a customer than there was. */
  #wasFull = false;
  #tests: Promise<void> = Promise.resolve();
  readonly #withFiles = new MailsWithFiles();
  /** Taken while they were under way. */
  readonly #takenAgain = new Set<bigint>();
  #tick: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;

  constructor(means: Means) {
    this.#means = means;
    const { ctx, workerId, pausedFor } = means;
    this.#holder = { owner: workerId, leaseSeconds: ctx.installation.limits.sendLeaseSeconds };
    this.#recorder = createMessageRecorder(ctx, this.#holder);
    this.#budget = new FlowBudget(ctx, workerId);
    this.#caps = new FlowCaps(ctx);
    if (pausedFor !== undefined) this.#reasons.add(pausedFor);
  }

  start(): void {
    this.#tick = setInterval(() => void this.#onTick(), TICK_MS);
    this.#renewal = setInterval(() => void this.#renew(), (this.#holder.leaseSeconds * 1_000) / RENEWALS_PER_LEASE);
    this.wake();
  }

  wake(): void {
    if (this.#isTaking) this.#isWanted = true;
    else void this.#take();
  }

  pause(reason: string): void {
    this.#reasons.add(reason);
  }

  resume(reason: string): void {
    this.#reasons.delete(reason);
    this.wake();
  }

  beginStop(): void {
    this.#isStopping = true;
    clearInterval(this.#tick);
  }

  async stop(graceMs: number): Promise<void> {
    this.beginStop();
    const late = new AbortController();
    const ended = (async () => {
      while (this.#places.ids.length > 0 || this.#isTaking)
        await Promise.race([this.#places.ended(), sleep(TICK_MS, undefined, { signal: late.signal })]);
    })().catch(() => undefined);
    await Promise.race([ended, sleep(graceMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    clearInterval(this.#renewal);
  }

  async #onTick(): Promise<void> {
    const { ctx } = this.#means;
    await freeMessagesOfDead(ctx.db).catch((error: unknown) => this.#complain('messages.not_freed', error));
    this.wake();
  }

  async #renew(): Promise<void> {
    const { ids } = this.#places;
    if (ids.length === 0) return;
    const { db } = this.#means.ctx;
    await renewMessages(db, this.#holder, ids).catch((error: unknown) =>
      this.#complain('messages.renewal_failed', error),
    );
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    try {
      do {
        this.#isWanted = false;
        if (!(await this.#takeRound())) break;
        // What ends and comes meanwhile is looked at together.
        if (this.#places.ids.length > 0) await sleep(ROUND_MS);
      } while (this.#isWanted || this.#isFull);
    } catch (error) {
      this.#complain('messages.not_taken', error);
    } finally {
      this.#isTaking = false;
    }
  }

  /** False: there is no place for more. */
  async #takeRound(): Promise<boolean> {
    const rounds = this.#places.next(this.#wasFull);
    if (this.#isStopping || this.#reasons.size > 0 || rounds.length === 0) return false;
    this.#isFull = false;
    this.#wasFull = false;
    for (const round of rounds) await this.#takeFor(round);
    return true;
  }

  async #takeFor(round: Omit<Taking, 'holder'>): Promise<void> {
    const taken = await takeMessages(this.#means.ctx.db, { holder: this.#holder, ...round });
    this.#isFull ||= taken.length > 0;
    this.#wasFull ||= taken.length >= round.perCustomer;
    for (const message of taken) {
      // Its lease was lost for a moment, as when the database restarts: the work on it goes on, and it has its lease again. Or its outcome has
      // just been recorded, it waits again, and was made due.
      if (this.#places.has(message.id)) this.#takenAgain.add(message.id);
      else void this.#places.hold(message, this.#begin(message)).then(() => this.#ended(message));
    }
  }

  /** What was taken again while the work on it was ending would wait for the end of a lease under which nobody works. */
  async #ended({ id }: TakenMessage): Promise<void> {
    const { ctx } = this.#means;
    if (this.#takenAgain.delete(id))
      await returnMessages(ctx.db, this.#holder.owner, [id]).catch((error: unknown) =>
        this.#complain('messages.not_returned', error),
      );
    this.wake();
  }

  /** Tests may be as large as a campaign's message with all its files: one at a time. Other mails with files: few. */
  #begin(message: TakenMessage): Promise<void> {
    if (isLarge(message)) return this.#withFiles.run(message.customerId, () => this.#send(message));
    if (message.purpose !== 'test') return this.#send(message);
    this.#tests = this.#tests.then(() => this.#send(message));
    return this.#tests;
  }

  /** Never rejects: what goes wrong here is decided when the lease ends. */
  async #send(message: TakenMessage): Promise<void> {
    const { ctx, drivers } = this.#means;
    const tools = {
      ctx,
      drivers,
      recorder: this.#recorder,
      budget: this.#budget,
      caps: this.#caps,
      rest: (customerId: bigint, seconds: number) => this.#places.rest(customerId, seconds),
      isStopping: () => this.#isStopping || this.#reasons.size > 0,
    };
    try {
      const outcome = await sendMessage(tools, message);
      if (outcome === 'again') await returnMessages(ctx.db, this.#holder.owner, [message.id]);
      else await this.#recorder.record(message, outcome);
    } catch (error) {
      this.#complain('messages.not_sent', error, message);
    } finally {
      await this.#budget.ended(message.id);
      await this.#caps.ended(message.id);
    }
  }

  #complain(event: string, error: unknown, message?: TakenMessage): void {
    const { log } = this.#means.ctx;
    log.warn(event, { message: messageOf(error), ...(message ? { messageId: String(message.id) } : {}) });
  }
}

/** Of a transactional mail (`mailContent` of transactional/transactional.ts). */
function isLarge({ content }: TakenMessage): boolean {
  if (content?.['hasFiles'] === true) return true;
  const html: unknown = Reflect.get(Object(content?.['texts']), 'html');
  return typeof html === 'string' && html.length > LARGE_TEXT;
}
