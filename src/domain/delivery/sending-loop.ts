/**
 * The loop that sends. At any moment at most `capacity` messages of a server are marked `sending`; each pass records
 * the attempts that ended and marks the next ones in one commit, so a crash can leave no more than those in doubt.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { SendingError } from '../../plugin-api/index.ts';
import type { FilledMessage } from '../content/message.ts';
import type { Context } from '../context.ts';
import type { SendingChannel } from '../sending/driver-pool.ts';
import { takeQuota } from '../sending/take-quota.ts';
import { deliveryMessageId } from '../tracking/delivery-message-id.ts';
import { linkSignerOf } from '../tracking/link-signer.ts';
import { outcomeOfFailure, REPLY_LENGTH_MAX, type ClaimedDelivery, type DeliveryOutcome } from './delivery.ts';
import type { Dispatch } from './dispatch.ts';
import { fieldValues } from './field-values.ts';
import { resolveUnknownAsSent, settle, type Leaseholder, type Settled } from './ledger-store.ts';

/** A commit costs milliseconds: replies that come together are recorded together. */
const COLLECT_MS = 2;

/** Why the loop ended: nothing left, campaign or process stopping, server down, or its pace reached. */
export type LoopEnd =
  | { readonly reason: 'finished' | 'stopped' | 'aborted' }
  | { readonly reason: 'paced'; readonly waitSeconds: number }
  | { readonly reason: 'unavailable'; readonly waitSeconds: number; readonly message: string };

export interface LoopInput {
  readonly ctx: Context;
  readonly dispatch: Dispatch;
  readonly channel: SendingChannel;
  readonly holder: Leaseholder;
  readonly claimed: readonly ClaimedDelivery[];
  readonly abortSignal: AbortSignal;
  readonly announce: (customerId: bigint, campaignId: bigint) => void;
}

/** The database may be away for a moment; outcomes are kept and tried again until it is back. */
const DATABASE_RETRY_MS = 500;

/** Sends the claimed deliveries until they are done or something ends the loop; every attempt's outcome is recorded. */
export async function runSendingLoop(input: LoopInput): Promise<LoopEnd> {
  return new SendingLoop(input).run();
}

class SendingLoop {
  readonly #input: LoopInput;
  readonly #waiting: ClaimedDelivery[];
  #ended: DeliveryOutcome[] = [];
  #inFlight = 0;
  /** Permits this loop has taken and not given back: for what is marked, in flight or not yet recorded. */
  #held = 0;
  #end: LoopEnd | undefined;
  #wake: (() => void) | undefined;

  constructor(input: LoopInput) {
    this.#input = input;
    this.#waiting = [...input.claimed].reverse();
  }

  async run(): Promise<LoopEnd> {
    const onAbort = (): void => this.#wake?.();
    this.#input.abortSignal.addEventListener('abort', onAbort);
    try {
      while (!this.#isDone()) await this.#pass();
    } finally {
      this.#input.abortSignal.removeEventListener('abort', onAbort);
      this.#give(this.#held);
    }
    return this.#end ?? { reason: 'finished' };
  }

  #isDone(): boolean {
    if (this.#input.abortSignal.aborted) this.#end ??= { reason: 'aborted' };
    const nothingMore = this.#waiting.length === 0 || this.#end !== undefined;
    return nothingMore && this.#inFlight === 0 && this.#ended.length === 0;
  }

  async #pass(): Promise<void> {
    const wanted = this.#end ? 0 : this.#waiting.length;
    const permits = this.#input.channel.permits.tryTake(wanted);
    this.#held += permits;
    const next = await this.#paced(permits);
    const outcomes = this.#ended;
    this.#ended = [];
    if (outcomes.length === 0 && next.length === 0) return this.#somethingHappens(wanted > 0);
    const { key } = this.#input.dispatch;
    const settled = await this.#settle(outcomes, next);
    this.#give(outcomes.length + next.length - settled.marked.size);
    this.#inFlight -= outcomes.length;
    if (settled.marked.size === 0 && next.length > 0 && !settled.isSending) this.#end ??= { reason: 'stopped' };
    for (const delivery of next) if (settled.marked.has(delivery.subscriberId)) this.#handOver(delivery);
    if (outcomes.length > 0) this.#input.announce(key.customerId, key.campaignId);
  }

  /** Takes as many deliveries as permits and the server's pace allow; gives unused permits back. */
  async #paced(permits: number): Promise<ClaimedDelivery[]> {
    const { channel, ctx } = this.#input;
    if (permits === 0 || channel.quota === null) return this.#takeNext(permits);
    const { granted, waitSeconds } = await takeQuota(ctx.db, { serverId: channel.serverId, quota: channel.quota }, permits);
    this.#give(permits - granted);
    if (granted < permits) this.#end ??= { reason: 'paced', waitSeconds };
    return this.#takeNext(granted);
  }

  #give(permits: number): void {
    this.#held -= permits;
    this.#input.channel.permits.give(permits);
  }

  #takeNext(count: number): ClaimedDelivery[] {
    return this.#waiting.splice(this.#waiting.length - count, count).reverse();
  }

  async #settle(outcomes: readonly DeliveryOutcome[], next: readonly ClaimedDelivery[]): Promise<Settled> {
    const { ctx, dispatch, holder, channel } = this.#input;
    const input = { key: dispatch.key, listId: dispatch.listId, holder, serverId: channel.serverId, outcomes, next };
    for (;;) {
      try {
        const settled = await settle(ctx.db, input);
        const sent = outcomes.filter((outcome) => outcome.state === 'sent');
        if (settled.recorded < outcomes.length && sent.length > 0) await resolveUnknownAsSent(ctx.db, dispatch.key, { owner: holder.owner, late: sent });
        return settled;
      } catch (error) {
        if (!isDatabaseAway(error)) throw error;
        ctx.log.warn('delivery.database_away', { message: messageOf(error), outcomes: outcomes.length });
        await sleep(DATABASE_RETRY_MS);
      }
    }
  }

  #handOver(delivery: ClaimedDelivery): void {
    this.#inFlight += 1;
    void this.#attempt(delivery).then((outcome) => {
      this.#ended.push(outcome);
      this.#wake?.();
    });
  }

  async #attempt(delivery: ClaimedDelivery): Promise<DeliveryOutcome> {
    const { subscriberId, epoch } = delivery;
    let filled: FilledMessage;
    try {
      filled = this.#fill(delivery);
    } catch (error) {
      const reply = messageOf(error).slice(0, REPLY_LENGTH_MAX);
      return { subscriberId, epoch, state: 'failed', isTry: true, reply, reason: 'not composed', runtimeMessageId: null, delaySeconds: 0 };
    }
    try {
      const { reply, runtimeMessageId } = await this.#input.channel.driver.send(filled);
      this.#input.channel.trouble.clear();
      const kept = reply.slice(0, REPLY_LENGTH_MAX);
      return { subscriberId, epoch, state: 'sent', isTry: true, reply: kept, reason: null, runtimeMessageId, delaySeconds: 0 };
    } catch (error) {
      return this.#failed(delivery, error);
    }
  }

  #failed(delivery: ClaimedDelivery, thrown: unknown): DeliveryOutcome {
    // A driver that throws anything else broke its contract; the message may have left.
    const error = thrown instanceof SendingError ? thrown : new SendingError('unknown', messageOf(thrown));
    if (error.kind === 'unavailable') {
      this.#end ??= { reason: 'unavailable', waitSeconds: this.#input.channel.trouble.note(), message: error.message };
    }
    const { sendAttemptsMax, sendRetryDelaySeconds } = this.#input.ctx.installation.limits;
    const rule = { attemptsMax: sendAttemptsMax, delaySeconds: sendRetryDelaySeconds };
    return outcomeOfFailure({ delivery, error, policy: this.#input.dispatch.policy, rule });
  }

  #fill({ subscriberId, email, fields }: ClaimedDelivery): FilledMessage {
    const { ctx, dispatch } = this.#input;
    const recipient = { ...dispatch.key, listId: dispatch.listId, subscriberId };
    return dispatch.message.fill({
      email,
      uid: subscriberUid(subscriberId),
      fields: fieldValues(fields),
      messageId: deliveryMessageId(ctx.installation, recipient, dispatch.fromDomain),
      links: linkSignerOf(ctx.installation).forRecipient(recipient),
    });
  }

  /** Waits for an attempt to end, for permits of others to come free, or for the stop. */
  #somethingHappens(wantsPermits: boolean): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (wantsPermits) void this.#input.channel.permits.whenFree().then(resolve);
    }).then(() => {
      this.#wake = undefined;
      return sleep(COLLECT_MS);
    });
  }
}

/** A lost or refused connection, or a server that is starting or stopping (SQLSTATE classes 08 and 57). */
function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return code.startsWith('08') || code.startsWith('57P') || /^E[A-Z]+$/.test(code) || /connection|timeout/i.test(error.message);
}
