/**
 * The loop that sends. At any moment at most `capacity` messages of a server are marked `sending`, so a crash can
 * leave no more than those in doubt. Marks and outcomes of all loops share commits (outcome-recorder.ts).
 */
import { giveBack } from '../../lib/blocks.ts';
import { messageOf } from '../../lib/errors.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { domainOf } from '../../lib/mail-domain.ts';
import { SendingError } from '../../plugin-api/index.ts';
import { faultSentence, isHeaderTooLong, isRunaway } from '../content/template-fault.ts';
import type { FilledMessage } from '../content/message.ts';
import type { Context } from '../context.ts';
import type { DeliveryReason } from '../sending/delivery-reason.ts';
import type { SendingChannel } from '../sending/driver-pool.ts';
import type { Permits } from '../sending/fair-permits.ts';
import type { GateGuest } from '../sending/routing/waiting.ts';
import type { Admission } from '../sending/sending-gate.ts';
import { deliveryMessageId } from '../tracking/delivery-message-id.ts';
import { linkSignerOf } from '../tracking/link-signer.ts';
import { returnPathOf } from '../tracking/return-path.ts';
import {
  HEADER_TOO_LONG,
  NOT_COMPOSED,
  outcomeOf,
  REPLY_LENGTH_MAX,
  untried,
  type ClaimedDelivery,
  type DeliveryOutcome,
} from './delivery.ts';
import { messageFault, recipientFault, stopFor, type CampaignStop } from './campaign-stop.ts';
import type { CampaignInHand } from './active-campaign.ts';
import { fieldValues } from './field-values.ts';
import type { Settled } from './ledger-store.ts';
import type { OutcomeRecorder, RecordRequest } from './outcome-recorder.ts';
import { PermissionToSend } from './permission-to-send.ts';

/**
 * Why the loop ended: nothing left, campaign or process stopping, server down, its pace or the plan's limit reached, or
 * something that the campaign has to be paused for.
 */
export type LoopEnd =
  | { readonly reason: 'finished' | 'stopped' | 'aborted' }
  | { readonly reason: 'paced' | 'limited'; readonly waitSeconds: number; readonly message?: string }
  | ({ readonly reason: 'pause' } & CampaignStop)
  | { readonly reason: 'unavailable'; readonly waitSeconds: number; readonly message?: string };

export interface LoopInput extends CampaignInHand {
  readonly ctx: Context;
  readonly channel: SendingChannel;
  readonly recorder: OutcomeRecorder;
  readonly claimed: readonly ClaimedDelivery[];
  /** So many may be taken by the server, or left in doubt; what is refused does not count. */
  readonly sendsMax: number;
  readonly abortSignal: AbortSignal;
  readonly announce: (customerId: bigint, campaignId: bigint) => void;
}

/** Copies of a message that one loop holds at once, in bytes: a process has several loops, and 250 MB for everything. */
const OPEN_BYTES_MAX = 33_554_432;

/** Messages composed in one turn of a loop, some 40 microseconds each; more a turn are fewer and larger writes to sockets. */
const HAND_OVERS_A_TURN = 64;

/** Sends the claimed deliveries until they are done or something ends the loop; every attempt's outcome is recorded. */
export async function runSendingLoop(input: LoopInput): Promise<LoopEnd> {
  return new SendingLoop(input).run();
}

/** A claimed delivery at the gate. */
interface Guest extends GateGuest {
  readonly delivery: ClaimedDelivery;
}

/** One that the ledger lets go. */
interface MarkedGuest extends Guest {
  readonly permission: PermissionToSend;
}

/** Why a row waits that was about to leave: its recipient is read again. */
const WITHDRAWN = 'recipient_changed';

/** Why a row waits whose template had to be stopped. */
const TEMPLATE_STOPPED = 'template_stopped';

/** A key that cannot sign, or a process that cannot. */
class NotSignedError extends Error {}

/** The message may have left. */
function isInDoubt(error: unknown): boolean {
  return !(error instanceof SendingError) || error.kind === 'unknown';
}

class SendingLoop {
  readonly #input: LoopInput;
  readonly #permits: Permits;
  readonly #waiting: ClaimedDelivery[];
  /** Messages marked as sending whose outcome is not recorded yet; each holds a permit. */
  #open = 0;
  /** Those that the ledger lets go, in order. */
  readonly #marked: MarkedGuest[] = [];
  /** Outcomes of this turn, on their way to the recorder. */
  #ended: DeliveryOutcome[] = [];
  #sendsLeft: number;
  #end: LoopEnd | undefined;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(input: LoopInput) {
    this.#input = input;
    this.#permits = input.channel.permits.of(input.campaign.key.customerId);
    this.#waiting = [...input.claimed].reverse();
    this.#sendsLeft = input.sendsMax;
  }

  async run(): Promise<LoopEnd> {
    const onAbort = (): void => this.#finishWith({ reason: 'aborted' });
    this.#input.abortSignal.addEventListener('abort', onAbort);
    try {
      if (this.#input.abortSignal.aborted) onAbort();
      while (this.#waiting.length > 0 && !this.#end) await this.#markNext();
      while (this.#open > 0) await this.#somethingHappens();
    } finally {
      this.#input.abortSignal.removeEventListener('abort', onAbort);
    }
    if (this.#failure) throw this.#failure;
    return this.#end ?? { reason: 'finished' };
  }

  /** Marks as many deliveries as there are permits, and hands over those that the ledger lets go. */
  async #markNext(): Promise<void> {
    if (this.#sendsLeft === 0) return this.#untilSendsAreLeft();
    const permits = this.#permits;
    const room = this.#roomInMemory();
    if (room === 0) return this.#somethingHappens();
    const taken = permits.tryTake(Math.min(this.#waiting.length, this.#sendsLeft, room));
    if (taken === 0) return Promise.race([permits.whenFree(), this.#somethingHappens()]);
    const { go, later, stop } = await this.#admitted(taken).catch((error: unknown) => this.#nobody(error));
    if (stop) this.#finishWith(stop);
    permits.give(taken - go.length);
    if (go.length + later.length === 0) return;
    this.#open += go.length;
    this.#sendsLeft -= go.length;
    const outcomes = later.map(({ guest, delaySeconds, reason }) =>
      untried(guest.delivery, { state: 'queued', reason, delaySeconds }),
    );
    const settled = await this.#record({ outcomes, next: go.map(({ delivery }) => delivery) });
    if (!settled?.goesOn) this.#finishWith({ reason: 'stopped' });
    for (const guest of go) {
      if (!settled || settled.turnedAway.has(guest.delivery.subscriberId)) this.#turnAway(guest);
      else if (this.#marked.push(this.#permitted(guest)) === 1) setImmediate(() => this.#handOverSome());
    }
  }

  #permitted(guest: Guest): MarkedGuest {
    return { ...guest, permission: new PermissionToSend(() => this.#markAgain(guest)) };
  }

  /** Marks a row that is marked already, which asks everything anew. */
  async #markAgain({ delivery }: Guest): Promise<boolean> {
    const settled = await this.#record({ outcomes: [], next: [delivery] });
    if (!settled?.goesOn) this.#finishWith({ reason: 'stopped' });
    return settled !== undefined && !settled.turnedAway.has(delivery.subscriberId);
  }

  /** After the next write was begun, so that the database works meanwhile; and never so many that replies wait for long. */
  #handOverSome(): void {
    for (const guest of this.#marked.splice(0, HAND_OVERS_A_TURN)) void this.#handOver(guest);
    if (this.#marked.length > 0) setImmediate(() => this.#handOverSome());
  }

  /** How many more copies may be held: of a message with large files, fewer than the server would take. */
  #roomInMemory(): number {
    const copies = Math.floor(OPEN_BYTES_MAX / this.#input.edition.message.staticBytes);
    return Math.max(Math.max(copies, 1) - this.#open, 0);
  }

  /** The ledger did not let it go. */
  #turnAway(guest: Guest): void {
    this.#input.channel.gate.withdraw([guest]);
    this.#close({ count: 1, spent: 0 });
  }

  /** What is under way may yet be refused, and then another may go in its place. */
  async #untilSendsAreLeft(): Promise<void> {
    if (this.#open > 0) return this.#somethingHappens();
    this.#finishWith({ reason: 'limited', waitSeconds: 0 });
  }

  /** Asks the gate for the next ones; whom it neither lets go nor sends back is next again. */
  async #admitted(count: number): Promise<Admission<Guest>> {
    const { campaign, channel, ctx } = this.#input;
    const guests = this.#takeNext(count).map((delivery) => ({ delivery, domain: domainOf(delivery.email) }));
    const admission = await channel.gate.admit(ctx, campaign.key.customerId, guests);
    if (admission.go.length < guests.length) {
      const gone = new Set([...admission.go, ...admission.later.map(({ guest }) => guest)]);
      this.#waiting.push(
        ...guests
          .filter((guest) => !gone.has(guest))
          .map(({ delivery }) => delivery)
          .toReversed(),
      );
    }
    return admission;
  }

  /** The gate could not be asked. Its permits go back, and what is under way comes to its end before the loop fails. */
  #nobody(error: unknown): Admission<Guest> {
    this.#fail(error);
    return { go: [], later: [], stop: undefined };
  }

  #takeNext(count: number): ClaimedDelivery[] {
    return this.#waiting.splice(this.#waiting.length - count, count).reverse();
  }

  async #handOver(guest: MarkedGuest): Promise<void> {
    const outcome = await this.#attempt(guest);
    // What ends in one turn is recorded, closed and told of together: most replies come by the dozen.
    if (this.#ended.push(outcome) === 1) queueMicrotask(() => void this.#recordEnded());
  }

  async #recordEnded(): Promise<void> {
    const outcomes = this.#ended;
    this.#ended = [];
    await this.#record({ outcomes, next: [] });
    const spent = outcomes.filter(({ state }) => state === 'sent' || state === 'unknown').length;
    this.#close({ count: outcomes.length, spent });
    this.#input.announce(this.#input.campaign.key.customerId, this.#input.campaign.key.campaignId);
  }

  /** Records; a fault that is not the database being away ends the loop, the rows are then decided by their leases. */
  async #record(request: Omit<RecordRequest, 'contentVersion'>): Promise<Settled | undefined> {
    try {
      return await this.#input.recorder.record({ ...request, contentVersion: this.#input.edition.contentVersion });
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(messageOf(error));
    this.#finishWith({ reason: 'aborted' });
  }

  /** So many are open no more; `spent` of them have used a send. */
  #close({ count, spent }: { count: number; spent: number }): void {
    this.#open -= count;
    this.#sendsLeft += count - spent;
    this.#permits.give(count);
    this.#wake?.();
  }

  /** The first reason counts. */
  #finishWith(end: LoopEnd): void {
    this.#end ??= end;
    this.#wake?.();
  }

  #somethingHappens(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #attempt(guest: MarkedGuest): Promise<DeliveryOutcome> {
    const { channel, edition } = this.#input;
    const { delivery, permission } = guest;
    let filled: FilledMessage;
    try {
      filled = await this.#fill(delivery);
    } catch (error) {
      channel.gate.withdraw([guest]);
      if (isRunaway(error)) return this.#stoppedBy(delivery, TEMPLATE_STOPPED, { pauseFor: messageFault(error) });
      const fault = faultSentence(error);
      const isOwn = isHeaderTooLong(error);
      // What cannot be signed is no fault of the recipient's: nobody is skipped for it.
      if (!isOwn && (!edition.skipsFailed || error instanceof NotSignedError)) {
        const who = subscriberUid(delivery.subscriberId);
        return this.#stoppedBy(delivery, TEMPLATE_STOPPED, { pauseFor: recipientFault(who, fault) });
      }
      const reply = fault.slice(0, REPLY_LENGTH_MAX);
      const reason = isOwn ? HEADER_TOO_LONG : NOT_COMPOSED;
      return { ...untried(delivery, { state: 'failed', reason }), isTry: true, reply };
    }
    try {
      const mayStillLeave = (): boolean | Promise<boolean> => permission.isGood();
      const may = mayStillLeave();
      if (may !== true && !(await may)) return this.#withdrawn(guest);
      const { reply, runtimeMessageId } = await channel.driver.send({ ...filled, mayStillLeave });
      giveBack(filled.content);
      return { ...this.#outcomeFor(guest, undefined, reply), runtimeMessageId };
    } catch (error) {
      return permission.isWithdrawn && !isInDoubt(error) ? this.#withdrawn(guest) : this.#failed(guest, error);
    }
  }

  /** Back into the queue: whoever takes it up next reads the person, and the address, as they are then. */
  #withdrawn(guest: Guest): DeliveryOutcome {
    this.#input.channel.gate.withdraw([guest]);
    return untried(guest.delivery, { state: 'queued', reason: WITHDRAWN });
  }

  #failed(guest: Guest, thrown: unknown): DeliveryOutcome {
    // A driver that throws anything else broke its contract; the message may have left.
    const error = thrown instanceof SendingError ? thrown : new SendingError('unknown', messageOf(thrown));
    return this.#outcomeFor(guest, error, error.message);
  }

  /** Does what the verdict says for the campaign and the server, and answers its part for the ledger. */
  #outcomeFor(guest: Guest, error: SendingError | undefined, reply: string): DeliveryOutcome {
    const { ctx, campaign, channel, edition } = this.#input;
    const { delivery } = guest;
    const { attempts } = delivery;
    const { verdict, stop } = channel.gate.ended(ctx, guest, { error, attempts, campaign: campaign.refusals });
    if (verdict.campaign) return this.#stoppedBy(delivery, ...stopFor(verdict.campaign, reply));
    if (stop) this.#finishWith({ ...stop, message: reply });
    const { sendAttemptsMax, sendRetryDelaySeconds } = ctx.installation.limits;
    const { keySeconds } = channel;
    const rule = { attemptsMax: sendAttemptsMax, delaySeconds: sendRetryDelaySeconds, keySeconds };
    return outcomeOf({ delivery, verdict: verdict.recipient, reply, policy: edition.policy, rule });
  }

  /** The campaign is to blame, not the recipient: whoever is left stays open, for the day when it is mended. */
  #stoppedBy(delivery: ClaimedDelivery, reason: DeliveryReason, stop: CampaignStop): DeliveryOutcome {
    this.#finishWith({ reason: 'pause', ...stop });
    return untried(delivery, { state: 'queued', reason });
  }

  /** The message of one recipient, signed where its sender's domain signs. */
  async #fill({ subscriberId, email, fields }: ClaimedDelivery): Promise<FilledMessage> {
    const { ctx, campaign, edition } = this.#input;
    const { sign, trackingBaseUrl, returnPathDomain } = edition.identity;
    const { customerId, campaignId } = campaign.key;
    const recipient = { customerId, campaignId, listId: campaign.listId, subscriberId };
    const { content, envelope, messageId, idempotencyKey, needsSmtpUtf8 } = await edition.message.fill({
      email,
      uid: subscriberUid(subscriberId),
      fields: fieldValues(fields),
      messageId: deliveryMessageId(ctx.installation, recipient, edition.fromDomain),
      links: linkSignerOf(ctx.installation).forRecipient(recipient, trackingBaseUrl ?? undefined),
    });
    const domain = returnPathDomain ?? ctx.installation.bounceDomain ?? '';
    const from = domain === '' ? envelope.from : returnPathOf(ctx.installation, recipient, domain);
    const rest = { envelope: { from, to: envelope.to }, messageId, idempotencyKey, needsSmtpUtf8 };
    if (sign === null) return { content, ...rest };
    const signed = await sign(content).catch((error: unknown) => {
      throw new NotSignedError(`It could not be signed: ${messageOf(error)}`);
    });
    giveBack(content);
    return { content: signed, ...rest };
  }
}
