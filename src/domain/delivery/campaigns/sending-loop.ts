/**
 * The loop that sends a batch: the window decides who is next, their rows are marked, each message is composed and handed over,
 * and outcomes are recorded. At any moment at most `capacity` messages of a server are marked `sending`, so a crash leaves no
 * more than those with an unknown outcome. Marks and outcomes of all loops share commits (outcome-recorder.ts).
 */
import { giveBack } from '../../../lib/blocks.ts';
import { messageOf } from '../../../lib/errors.ts';
import { SendingError } from '../../../plugin-api/index.ts';
import type { FilledMessage } from '../../content/message.ts';
import type { Context } from '../../context.ts';
import type { SendingChannel } from '../../sending/driver-pool.ts';
import type { SourceKey } from '../../source-key.ts';
import type { CampaignInHand } from './active-campaign.ts';
import { stopFor, type CampaignStop } from './campaign-stop.ts';
import { composeDelivery, composeFault } from './compose-delivery.ts';
import { skippedByPlugin } from './skipped-by-plugin.ts';
import { outcomeOf, untried, type LeasedDelivery, type DeliveryOutcome } from '../ledger/delivery.ts';
import type { Settled } from '../ledger/ledger-store.ts';
import type { OutcomeRecorder, RecordRequest } from './outcome-recorder.ts';
import { PermissionToSend } from './permission-to-send.ts';
import { precedence } from '../precedence.ts';
import { SendingWindow, type Recipient } from './sending-window.ts';

/**
 * Why the loop ended: nothing left, campaign or process stopping, server down, its pace or the plan's limit reached, or a fault
 * for which the campaign is paused.
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
  readonly claimed: readonly LeasedDelivery[];
  /** So many may be accepted or have an unknown outcome; refused ones do not count. */
  readonly sendsMax: number;
  readonly abortSignal: AbortSignal;
  readonly announce: (source: SourceKey) => void;
}

/** Messages composed per turn of the event loop, some 40 microseconds each; more make fewer and larger writes to sockets. */
const HAND_OVERS_PER_TICK = 64;

/** Sends the leased deliveries until they are done or something ends the loop; every attempt's outcome is recorded. */
export async function runSendingLoop(input: LoopInput): Promise<LoopEnd> {
  return new SendingLoop(input).run();
}

/** A recipient that the ledger has marked. */
interface VersionedRecipient extends Recipient {
  readonly permission: PermissionToSend;
}

/** The message may have been sent. */
function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof SendingError) || error.kind === 'unknown';
}

class SendingLoop {
  readonly #input: LoopInput;
  readonly #window: SendingWindow;
  /** The marked ones, in order. */
  readonly #marked: VersionedRecipient[] = [];
  /** Outcomes of this turn, for the recorder. */
  #ended: DeliveryOutcome[] = [];
  #end: LoopEnd | undefined;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(input: LoopInput) {
    this.#input = input;
    const { campaign, edition, channel, claimed, sendsMax } = input;
    const { customerId } = campaign.key;
    const messageBytes = edition.message.staticBytes;
    this.#window = new SendingWindow({ customerId, channel, claimed, sendsMax, messageBytes });
  }

  async run(): Promise<LoopEnd> {
    const onAbort = (): void => this.#finishWith({ reason: 'aborted' });
    this.#input.abortSignal.addEventListener('abort', onAbort);
    try {
      if (this.#input.abortSignal.aborted) onAbort();
      while (!this.#window.isEmpty && !this.#end) await this.#markNext();
      while (this.#window.open > 0) await this.#somethingHappens();
    } finally {
      this.#input.abortSignal.removeEventListener('abort', onAbort);
    }
    if (this.#failure) throw this.#failure;
    return this.#end ?? { reason: 'finished' };
  }

  /** Marks as many deliveries as the window has space for, and hands over those that were marked. */
  async #markNext(): Promise<void> {
    const window = this.#window;
    await precedence.untilCampaignsMay();
    if (this.#end) return;
    if (!window.hasSends) return this.#untilSendsAreLeft();
    const permits = window.takePermits();
    if (permits === 0) return Promise.race([window.whenPermitsAreFree(), this.#somethingHappens()]);
    const admission = await window.admit(this.#input.ctx, permits).catch((error: unknown) => this.#fail(error));
    if (!admission) return;
    const { later, stop } = admission;
    if (stop) this.#finishWith(stop);
    if (admission.go.length + later.length === 0) return;
    const { go, skipped } = this.#askPlugins(admission.go);
    const held = later.map(({ recipient, delaySeconds, reason }) =>
      untried(recipient.delivery, { state: 'queued', reason, delaySeconds }),
    );
    const settled = await this.#record({ outcomes: [...held, ...skipped], next: go.map(({ delivery }) => delivery) });
    if (!settled?.goesOn) this.#finishWith({ reason: 'stopped' });
    for (const recipient of go) {
      if (!settled || settled.notMarked.has(recipient.delivery)) this.#refuse(recipient);
      else if (this.#marked.push(this.#permitted(recipient)) === 1) setImmediate(() => this.#handOverSome());
    }
  }

  /** Those whom a plugin skips are not handed over. */
  #askPlugins(admitted: readonly Recipient[]): { go: readonly Recipient[]; skipped: readonly DeliveryOutcome[] } {
    const skipped: DeliveryOutcome[] = [];
    const go = admitted.filter((recipient) => {
      const outcome = skippedByPlugin(this.#input.ctx, this.#input.edition, recipient.delivery);
      if (!outcome) return true;
      skipped.push(outcome);
      this.#refuse(recipient);
      return false;
    });
    return { go, skipped };
  }

  /** The same object: the gate knows by it whose outcome comes. */
  #permitted(recipient: Recipient): VersionedRecipient {
    return Object.assign(recipient, { permission: new PermissionToSend(() => this.#markAgain(recipient)) });
  }

  /** Marks a marked row again, which repeats all checks. */
  async #markAgain({ delivery }: Recipient): Promise<boolean> {
    const settled = await this.#record({ outcomes: [], next: [delivery] });
    if (!settled?.goesOn) this.#finishWith({ reason: 'stopped' });
    return settled !== undefined && !settled.notMarked.has(delivery);
  }

  /** After the next write was started, so that the database works meanwhile; and never so many that replies wait for long. */
  #handOverSome(): void {
    for (const recipient of this.#marked.splice(0, HAND_OVERS_PER_TICK)) void this.#handOver(recipient);
    if (this.#marked.length > 0) setImmediate(() => this.#handOverSome());
  }

  /** It is not handed over. */
  #refuse(recipient: Recipient): void {
    this.#input.channel.gate.withdraw([recipient]);
    this.#close({ count: 1, spent: 0 });
  }

  /** Messages in flight may be refused, and then others may be sent instead. */
  async #untilSendsAreLeft(): Promise<void> {
    if (this.#window.open > 0) return this.#somethingHappens();
    this.#finishWith({ reason: 'limited', waitSeconds: 0 });
  }

  async #handOver(recipient: VersionedRecipient): Promise<void> {
    const outcome = await this.#attempt(recipient);
    // Outcomes of one turn are recorded, closed and reported together: most replies come in groups.
    if (this.#ended.push(outcome) === 1) queueMicrotask(() => void this.#recordEnded());
  }

  async #recordEnded(): Promise<void> {
    const outcomes = this.#ended;
    this.#ended = [];
    await this.#record({ outcomes, next: [] });
    const spent = outcomes.filter(({ state }) => state === 'sent' || state === 'unknown').length;
    this.#close({ count: outcomes.length, spent });
    this.#input.announce(this.#input.campaign.key);
  }

  /** Records; an error other than an unavailable database ends the loop, and its rows are decided when their leases end. */
  async #record(request: Omit<RecordRequest, 'contentVersion'>): Promise<Settled | undefined> {
    try {
      return await this.#input.recorder.record({ ...request, contentVersion: this.#input.edition.contentVersion });
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** Messages in flight are finished before the loop fails. */
  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(messageOf(error));
    this.#finishWith({ reason: 'aborted' });
  }

  #close(ended: { count: number; spent: number }): void {
    this.#window.close(ended);
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

  async #attempt(recipient: VersionedRecipient): Promise<DeliveryOutcome> {
    const { ctx, channel, edition } = this.#input;
    const { delivery, permission } = recipient;
    const preparing = channel.senders.prepare(edition.fromEmail);
    const unfit = preparing && (await this.#unfitSender(recipient, preparing));
    if (unfit) return unfit;
    let message: FilledMessage;
    try {
      message = await composeDelivery(ctx, this.#input, delivery);
    } catch (error) {
      channel.gate.withdraw([recipient]);
      const { outcome, stop } = composeFault(error, delivery, edition);
      if (stop) this.#finishWith({ reason: 'pause', ...stop });
      return outcome;
    }
    try {
      const mayStillLeave = (): boolean | Promise<boolean> => permission.isGood();
      const may = mayStillLeave();
      if (may !== true && !(await may)) return this.#withdrawn(recipient);
      const { reply, runtimeMessageId } = await channel.driver.send({ ...message, mayStillLeave });
      giveBack(message.content);
      return {
        ...this.#outcomeFor(recipient, undefined, storable(reply)),
        runtimeMessageId: storable(runtimeMessageId),
      };
    } catch (error) {
      return permission.isWithdrawn && !isOutcomeUnknown(error)
        ? this.#withdrawn(recipient)
        : this.#failed(recipient, error);
    }
  }

  /** A vendor that refuses the sender would refuse every copy: the campaign stops before the next one. */
  async #unfitSender(recipient: Recipient, preparing: Promise<void>): Promise<DeliveryOutcome | undefined> {
    try {
      await preparing;
      return undefined;
    } catch (error) {
      if (!(error instanceof SendingError) || error.kind !== 'refused') return this.#failed(recipient, error);
      this.#input.channel.gate.withdraw([recipient]);
      const [reason, pause] = stopFor({ problem: 'refused' }, error.message);
      this.#finishWith({ reason: 'pause', ...pause });
      return untried(recipient.delivery, { state: 'queued', reason });
    }
  }

  /** Back into the queue: the next worker reads the person, and the address, again. */
  #withdrawn(recipient: Recipient): DeliveryOutcome {
    this.#input.channel.gate.withdraw([recipient]);
    return untried(recipient.delivery, { state: 'queued', reason: 'recipient_changed' });
  }

  #failed(recipient: Recipient, thrown: unknown): DeliveryOutcome {
    // A driver that throws anything else broke its contract; the message may have been sent.
    const error = thrown instanceof SendingError ? thrown : new SendingError('unknown', messageOf(thrown));
    return this.#outcomeFor(recipient, error, error.message);
  }

  /** Applies the verdict to the campaign and the server, and returns its part for the ledger. */
  #outcomeFor(recipient: Recipient, error: SendingError | undefined, reply: string): DeliveryOutcome {
    const { ctx, campaign, channel, edition } = this.#input;
    const { delivery } = recipient;
    const { attempts } = delivery;
    const { verdict, stop } = channel.gate.ended(ctx, recipient, { error, attempts, campaign: campaign.refusals });
    if (verdict.campaign) {
      // The campaign is at fault, not the recipient: the rest waits until it is corrected.
      const [reason, pause] = stopFor(verdict.campaign, reply);
      this.#finishWith({ reason: 'pause', ...pause });
      return untried(delivery, { state: 'queued', reason });
    }
    if (stop) this.#finishWith({ ...stop, message: reply });
    const { sendAttemptsMax, sendRetryDelaySeconds } = ctx.installation.limits;
    const { keySeconds } = channel;
    const rule = { attemptsMax: sendAttemptsMax, delaySeconds: sendRetryDelaySeconds, keySeconds };
    return outcomeOf({ delivery, verdict: verdict.recipient, reply, policy: edition.policy, rule });
  }
}

/** A driver passes on what its vendor wrote; no database stores a NUL. */
function storable(text: string): string {
  return text.replaceAll('\0', ' ');
}
