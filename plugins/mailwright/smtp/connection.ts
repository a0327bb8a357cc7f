/**
 * One logged-in connection: takes messages, keeps as many in flight as the server's extensions allow, and gives each
 * reply to its own message. Decides nothing about queues or other connections.
 *
 * Three ways to speak, by what the server offers:
 * - lockstep: one command, one reply (RFC 5321).
 * - pipelined: envelope and DATA of a message leave together with the content of the one before (RFC 2920).
 * - chunked: whole messages leave one behind the other by BDAT (RFC 3030), up to a window.
 */
import { SendingError } from '../../../src/plugin-api/index.ts';
import { SmtpTimeoutError, type SmtpChannel } from './channel.ts';
import { chunkTransfer, dataTransfer } from './content.ts';
import { envelopeCommands } from './envelope.ts';
import { BAD_SEQUENCE, CLOSING, refusalOf, unavailable, UNKNOWN_COMMAND } from './reply-meaning.ts';
import { SmtpProtocolError, type Reply } from './reply.ts';
import { quit, type Session } from './session.ts';
import { Transaction, type Delivery, type Step } from './transaction.ts';

/** Servers count messages per session; many refuse more than about this. */
const MESSAGES_PER_CONNECTION = 1_000;
/** Long enough for the pause between two batches, short enough that it keeps no idle program alive. */
const IDLE_SECONDS = 10;
/** After such a pause the server may have closed the connection: the next message waits for a reply before its content. */
const TRUST_MS = 1_000;
/**
 * Only as many messages are sent ahead as the server answers in about this time, however large the window: what was written
 * cannot be stopped any more, for example when its recipient unsubscribes.
 */
const ON_THE_WIRE_MS = 500;
/** The weight of the latest answer in the average time of an answer. */
const LATEST_SHARE = 0.2;
/** After a 421 the server has this long to close before we do. */
const CLOSING_MS_MAX = 2_000;

/** The steps of one message, the last with its content. After a refused transaction comes a reset. */
const STEPS: Readonly<Record<'data' | 'chunk', Readonly<Record<'fresh' | 'reset', readonly Step[]>>>> = {
  data: { fresh: ['mail', 'rcpt', 'data', 'end'], reset: ['reset', 'mail', 'rcpt', 'data', 'end'] },
  chunk: { fresh: ['mail', 'rcpt', 'end'], reset: ['reset', 'mail', 'rcpt', 'end'] },
};

export type Mode = 'lockstep' | 'pipelined' | 'chunked';

export interface ConnectionEnd {
  /** Messages of which no content was sent: another connection may take them. */
  readonly returned: readonly Delivery[];
  /** Why the server cannot be used, if it said so. */
  readonly closingReply: SendingError | undefined;
  /** How many messages it had accepted when the server closed it without a reply and left more with an unknown outcome. */
  readonly cutAfter: number | undefined;
  readonly acceptedNothing: boolean;
  /** Replies no longer matched our commands while several were in flight. */
  readonly isPipeliningSuspect: boolean;
  /** The server offered CHUNKING and does not know the command. */
  readonly isChunkingSuspect: boolean;
}

export interface ConnectionListener {
  onCapacity(connection: SmtpConnection): void;
  onEnd(connection: SmtpConnection, end: ConnectionEnd): void;
}

export interface ConnectionOptions {
  readonly session: Session;
  readonly mode: Mode;
  readonly window: number;
  readonly messagesMax?: number | undefined;
  readonly idleSeconds?: number | undefined;
  readonly listener: ConnectionListener;
}

export class SmtpConnection {
  readonly openedAt = performance.now();
  readonly #options: ConnectionOptions;
  readonly #channel: SmtpChannel;
  readonly #mode: Mode;
  readonly #idleTimer: NodeJS.Timeout;
  readonly #messagesMax: number;
  #transactions: Transaction[] = [];
  #startedCount = 0;
  #takenCount = 0;
  #acceptedCount = 0;
  /** The transaction after which nothing may be sent until the server has answered. */
  #dialogue: Transaction | undefined;
  #mustReset = false;
  #isCareful = true;
  #isRetiring = false;
  #isLeaving = false;
  #hasEnded = false;
  #closingReply: SendingError | undefined;
  #closingTimer: NodeJS.Timeout | undefined;
  #isOutOfStep = false;
  #isChunkingSuspect = false;
  #lastReplyAt = performance.now();
  /** When the last message ended, and the average time of the latest ones. */
  #lastEndAt = performance.now();
  #answerMs = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#mode = options.mode;
    this.#channel = options.session.channel;
    this.#messagesMax = options.messagesMax ?? MESSAGES_PER_CONNECTION;
    this.#idleTimer = setTimeout(() => this.#onIdle(), (options.idleSeconds ?? IDLE_SECONDS) * 1_000);
    this.#channel.onClosed((cause) => this.#onClosed(cause));
  }

  get inFlightCount(): number {
    return this.#transactions.length;
  }

  get capacity(): number {
    if (this.#isRetiring || this.#closingReply || this.#hasEnded) return 0;
    return Math.max(0, this.#limit() - this.#transactions.length);
  }

  /** Starts a message, or keeps it until there is space in the window. */
  take(delivery: Delivery): void {
    try {
      const commands = envelopeCommands(delivery.message, this.#options.session.capabilities);
      if (this.#transactions.length === 0) this.#isCareful = this.#shouldBeCareful();
      this.#transactions.push(new Transaction(delivery, commands));
    } catch (error) {
      return delivery.reject(error instanceof SendingError ? error : unavailable(String(error)));
    }
    if (++this.#takenCount >= this.#messagesMax) this.#isRetiring = true;
    this.#advance();
  }

  /** Takes no more messages; sends QUIT after the last one. */
  retire(): void {
    this.#isRetiring = true;
    if (this.#transactions.length === 0) void this.#leave();
  }

  /** Cuts the connection. */
  destroy(cause: Error): void {
    this.#channel.destroy(cause);
  }

  /** The window grows while the server answers well, so that a bad server costs little. */
  #limit(): number {
    if (this.#mode === 'lockstep') return 1;
    if (this.#mode === 'pipelined') return 2;
    if (this.#isCareful) return 1;
    return Math.min(this.#options.window, 1 + this.#acceptedCount, 1 + Math.floor(ON_THE_WIRE_MS / this.#answerMs));
  }

  #shouldBeCareful(): boolean {
    return this.#acceptedCount === 0 || performance.now() - this.#lastReplyAt > TRUST_MS;
  }

  #advance(): void {
    while (!this.#closingReply && !this.#dialogue) {
      const next = this.#transactions[this.#startedCount];
      if (!next) return;
      this.#start(next, this.#startedCount++ > 0);
    }
  }

  #start(transaction: Transaction, isBehindAnother: boolean): void {
    const isChunked = this.#mode === 'chunked';
    transaction.startedAt = performance.now();
    // an unanswered chunk may yet be refused, and leave a transaction that only RSET clears (RFC 3030 2)
    const mustReset = this.#mustReset || (isChunked && isBehindAnother);
    this.#mustReset = false;
    transaction.steps = STEPS[isChunked ? 'chunk' : 'data'][mustReset ? 'reset' : 'fresh'];
    const { length } = transaction.steps;
    if (isChunked && !this.#isCareful) return this.#say(transaction, length);
    this.#dialogue = transaction;
    this.#say(transaction, this.#mode === 'lockstep' ? 1 : length - 1);
  }

  /** Queues the commands of the next steps and expects a reply to each. */
  #say(transaction: Transaction, count: number): void {
    const { steps, saidCount } = transaction;
    transaction.saidCount += count;
    this.#channel.expect(this.#onReply, count);
    let commands = '';
    for (let index = saidCount; index < transaction.saidCount; index++)
      commands += commandOf(transaction, steps[index] ?? 'end');
    if (steps[transaction.saidCount - 1] !== 'end') return this.#channel.write({ commands });
    const { content } = transaction.delivery.message;
    const transfer = this.#mode === 'chunked' ? chunkTransfer(commands, content) : dataTransfer(content);
    this.#channel.write(transfer, () => (transaction.wasHandedOver = true));
  }

  /**
   * Replies come in order, and no step of a message is sent before all steps of the one before: a reply belongs to the oldest
   * message.
   */
  readonly #onReply = (reply: Reply): void => {
    const transaction = this.#transactions[0];
    if (transaction) this.#onReplyTo(transaction, reply);
  };

  #onReplyTo(transaction: Transaction, reply: Reply): void {
    const step = transaction.nextAnswered();
    const mayContinue = step === 'data' && reply.code === 354;
    if (reply.code >= 300 && reply.code < 400 && !mayContinue) return this.#onNonsense(reply);
    if (step === 'data' && reply.isPositive) return this.#onNonsense(reply);
    if (!reply.isPositive && !mayContinue) this.#onRefusal(transaction, step, reply);
    if (reply.isPositive && step === 'rcpt') transaction.hasRecipient = true;
    if (reply.isPositive && step === 'end' && transaction.failure) this.#onContradiction(transaction, reply);
    if (mayContinue) return this.#transfer(transaction);
    if (step === 'end' && reply.isPositive && !transaction.failure) return this.#onAccepted(transaction, reply);
    if (transaction.answeredCount < transaction.saidCount) return;
    const next = transaction.failure ? undefined : transaction.steps[transaction.saidCount];
    if (next === undefined) return this.#finish(transaction);
    if (next === 'end') this.#dialogue = undefined;
    this.#say(transaction, 1);
  }

  /** The server refused the sender and accepted recipient and message: nobody knows whether it will deliver. */
  #onContradiction(transaction: Transaction, reply: Reply): void {
    if (transaction.hasRecipient)
      transaction.failure = new SendingError('unknown', `The server took what it had refused: ${reply.text()}`);
  }

  /** The server waits for content. With pipelining that can happen although the recipient was refused. */
  #transfer(transaction: Transaction): void {
    // with a recipient even a lone dot would be a message
    if (transaction.failure && transaction.hasRecipient) return this.#channel.destroy(transaction.failure);
    if (transaction.failure) {
      transaction.steps = [...transaction.steps.slice(0, -1), 'discard'];
      this.#mustReset = true;
    }
    const may = transaction.failure ? true : (transaction.delivery.message.mayStillLeave?.() ?? true);
    if (may === true) this.#sendContent(transaction);
    else void this.#checkPermission(transaction, may);
  }

  /** No content was sent. Once the server waits for it, only closing the connection cancels the message. */
  async #checkPermission(transaction: Transaction, answer: boolean | Promise<boolean>): Promise<void> {
    const may = await Promise.resolve(answer).catch(() => false);
    if (this.#hasEnded) return;
    if (may) return this.#sendContent(transaction);
    this.#isRetiring = true;
    transaction.failure = unavailable('The message may not leave any more');
    this.#channel.destroy(transaction.failure);
  }

  #sendContent(transaction: Transaction): void {
    this.#say(transaction, 1);
    if (this.#mode === 'lockstep') return;
    this.#dialogue = undefined;
    this.#advance();
    this.#options.listener.onCapacity(this);
  }

  #onRefusal(transaction: Transaction, step: Step, reply: Reply): void {
    if (this.#isUnknownChunk(transaction, step, reply)) return this.#onUnknownChunk(transaction, reply);
    if (step === 'reset' && reply.code !== CLOSING) {
      // later commands have replies of their own: the server may still accept this message
      return this.#stopTaking(unavailable('The server refused RSET', reply), reply);
    }
    const refusal = refusalOf(reply, { step });
    // a refusal of content or of a lone dot is only a consequence of the first refusal
    const isFirst = transaction.failure === undefined;
    transaction.failure ??= refusal;
    if (reply.code === CLOSING || (isFirst && refusal.kind === 'unavailable')) this.#stopTaking(refusal, reply);
  }

  /** Starts nothing more here; replies to what is in flight have a moment to arrive. */
  #stopTaking(refusal: SendingError, reply: Reply): void {
    this.#isOutOfStep ||= reply.code === BAD_SEQUENCE;
    this.#closingReply ??= refusal;
    this.#closingTimer ??= setTimeout(() => this.#channel.destroy(new Error(reply.text())), CLOSING_MS_MAX);
  }

  #isUnknownChunk(transaction: Transaction, step: Step, { code }: Reply): boolean {
    return this.#mode === 'chunked' && step === 'end' && !transaction.failure && UNKNOWN_COMMAND.has(code);
  }

  /** After the unknown command come lines of a message, which the server would take for commands: cut at once. */
  #onUnknownChunk(transaction: Transaction, reply: Reply): void {
    transaction.failure = unavailable('The server offered CHUNKING and does not know BDAT', reply);
    this.#isChunkingSuspect = true;
    this.#channel.destroy(transaction.failure);
  }

  #onNonsense(reply: Reply): void {
    this.#channel.destroy(new SmtpProtocolError(`The server answered another question than ours: ${reply.text()}`));
  }

  #onAccepted(transaction: Transaction, reply: Reply): void {
    this.#acceptedCount++;
    transaction.accept(reply);
    this.#finish(transaction);
  }

  /** Replies come in order, so the message that ends is always the oldest. */
  #finish(transaction: Transaction): void {
    this.#transactions.shift();
    this.#startedCount--;
    this.#learnPace(transaction);
    if (this.#dialogue === transaction) this.#dialogue = undefined;
    this.#isCareful = false;
    if (transaction.failure) {
      this.#mustReset = true;
      transaction.delivery.reject(transaction.failure);
    }
    if (this.#closingReply) return this.#startedCount === 0 ? this.#channel.destroy(this.#closingReply) : undefined;
    this.#advance();
    if (this.#transactions.length > 0) return this.#options.listener.onCapacity(this);
    this.#lastReplyAt = performance.now();
    if (this.#isRetiring) return void this.#leave();
    this.#idleTimer.refresh();
    this.#options.listener.onCapacity(this);
  }

  /** The time of one answer: since the last one, or since the message was started. */
  #learnPace({ startedAt }: Transaction): void {
    const now = performance.now();
    this.#answerMs += LATEST_SHARE * (now - Math.max(startedAt, this.#lastEndAt) - this.#answerMs);
    this.#lastEndAt = now;
  }

  #onIdle(): void {
    if (this.#transactions.length === 0) this.retire();
  }

  async #leave(): Promise<void> {
    if (this.#hasEnded || this.#isLeaving) return;
    this.#isLeaving = true;
    await quit(this.#channel);
    this.#onClosed(new Error('The connection was closed'));
  }

  #onClosed(cause: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#closingTimer);
    const isOurs = cause instanceof SmtpTimeoutError || cause instanceof SmtpProtocolError;
    const isDecided = isOurs || cause instanceof SendingError || this.#closingReply !== undefined;
    const isCut = !isDecided && this.#acceptedCount > 0 && this.#transactions.length > 0;
    const cutAfter = isCut ? this.#acceptedCount : undefined;
    const returned: Delivery[] = [];
    for (const transaction of this.#transactions) {
      if (this.#mayMove(transaction, isOurs)) returned.push(transaction.delivery);
      else transaction.delivery.reject(transaction.lossError(cause, this.#closingReply));
    }
    this.#transactions = [];
    const isPipeliningSuspect = this.#mode !== 'lockstep' && (isOurs || this.#isOutOfStep);
    const acceptedNothing = this.#acceptedCount === 0 && !this.#isRetiring;
    const isChunkingSuspect = this.#isChunkingSuspect;
    const { listener } = this.#options;
    listener.onEnd(this, {
      returned,
      closingReply: this.#closingReply,
      cutAfter,
      acceptedNothing,
      isPipeliningSuspect,
      isChunkingSuspect,
    });
  }

  /**
   * A message that was never started may always go to another connection. One whose envelope was sent on a connection that had
   * died may do so once: without content, no server can have accepted it.
   */
  #mayMove(transaction: Transaction, isOurs: boolean): boolean {
    const { delivery } = transaction;
    if (!transaction.hasStarted) return true;
    if (transaction.wasHandedOver || transaction.failure || this.#closingReply || isOurs) return false;
    if (this.#acceptedCount === 0 || delivery.wasMoved) return false;
    delivery.wasMoved = true;
    return true;
  }
}

function commandOf({ commands }: Transaction, step: Step): string {
  if (step === 'reset') return 'RSET\r\n';
  if (step === 'mail') return commands.mail;
  if (step === 'rcpt') return commands.rcpt;
  if (step === 'data') return 'DATA\r\n';
  // the content includes its command, if it has one
  return step === 'discard' ? '.\r\n' : '';
}
