/**
 * The open connections to one server: opened when messages wait, shared evenly, closed when idle. Messages that no connection has
 * started wait here.
 */
import {
  SendingError,
  type DriverOptions,
  type OutgoingMessage,
  type SendResult,
} from '../../../src/plugin-api/index.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { Capabilities } from './capabilities.ts';
import { SmtpConnection, type ConnectionEnd, type Mode } from './connection.ts';
import { unavailable } from './reply-meaning.ts';
import { openSession, type Session } from './session.ts';
import type { SmtpSettings } from './settings.ts';
import type { Delivery } from './transaction.ts';

/** After a failed opening, further openings wait this long while another connection works, then twice as long, up to a limit. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/**
 * How long lockstep is used with a server that lost its place while commands were pipelined, and DATA with one that does not know
 * BDAT.
 */
const FALLBACK_MS = 600_000;
/** On closing, waiting messages may still be sent during this time; afterwards they are returned as not sent. */
const DRAIN_MS_MAX = 5_000;
/** On closing, messages in flight get the time of one reply and this. */
const CLOSE_GRACE_MS = 2_000;

export interface PoolOptions extends DriverOptions {
  readonly settings: SmtpSettings;
  readonly tokens: AccessTokens;
}

export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #connectionsMax: number;
  readonly #connections = new Set<SmtpConnection>();
  /** Those of them that were too many. */
  readonly #retiring = new WeakSet<SmtpConnection>();
  readonly #abort = new AbortController();
  /** How many of `connectionsMax` may be open now. */
  #usable: number;
  #waiting: Delivery[] = [];
  #openingCount = 0;
  /** Messages that waited here for long, for which the host is asked whether they may still be sent. */
  #askingCount = 0;
  #failureCount = 0;
  #retryAt = 0;
  #lockstepUntil = 0;
  #dataUntil = 0;
  /** The last connection that the server closed without a reply, and how many messages it accepts on one, as far as is known. */
  #lastCut = { after: 0, at: 0 };
  #limit = { messages: Infinity, until: 0 };
  #isClosing = false;
  #closed: PromiseWithResolvers<void> | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { connectionsMax, settings } = options;
    this.#connectionsMax = Math.max(1, Math.min(connectionsMax, settings.max_connections ?? connectionsMax));
    this.#usable = this.#connectionsMax;
  }

  /** Connections that may be open now. */
  get usable(): number {
    return this.#usable;
  }

  /** So many may be open from now on; connections beyond them end when their messages are done. */
  useConnections(count: number): void {
    const usable = Math.max(1, Math.min(this.#connectionsMax, Math.floor(count)));
    if (usable === this.#usable) return;
    this.#usable = usable;
    this.#retireSurplus();
    this.#pump();
  }

  #retireSurplus(): void {
    const staying = [...this.#connections].filter((connection) => !this.#retiring.has(connection));
    const busiestLast = staying.sort((a, b) => a.inFlightCount - b.inFlightCount);
    for (const connection of busiestLast.slice(0, Math.max(0, busiestLast.length - this.#usable))) {
      this.#retiring.add(connection);
      connection.retire();
    }
  }

  /** Hands one message to a connection, opens one if necessary, and settles with the message's result. */
  send(message: OutgoingMessage): Promise<SendResult> {
    if (this.#isClosing) return Promise.reject(unavailable('The driver is closed'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ message, resolve, reject, wasMoved: false });
      // when others wait already, no connection has capacity
      if (this.#waiting.length === 1) this.#pump();
      else this.#openMore();
    });
  }

  /** Lets messages in flight finish, within limits, and closes every connection. */
  async close(): Promise<void> {
    if (this.#closed) return this.#closed.promise;
    this.#closed = Promise.withResolvers();
    this.#isClosing = true;
    const drainTimer = setTimeout(() => this.#failWaiting(unavailable('The driver is closed')), DRAIN_MS_MAX);
    const cutTimer = setTimeout(() => this.#cut(), this.#options.replyTimeoutMs + CLOSE_GRACE_MS);
    this.#retireWhenDrained();
    await this.#closed.promise;
    clearTimeout(drainTimer);
    clearTimeout(cutTimer);
  }

  /** This connection has capacity again. */
  #feed(connection: SmtpConnection): void {
    while (connection.capacity > 0 && this.#hasNext) this.#giveNext(connection);
    this.#openMore();
    if (this.#isClosing) this.#retireWhenDrained();
  }

  #pump(): void {
    while (this.#hasNext) {
      const connection = this.#emptiestConnection();
      if (!connection) break;
      this.#giveNext(connection);
    }
    this.#openMore();
    if (this.#isClosing) this.#retireWhenDrained();
  }

  /** The host is asked about no more messages at once than there are connections: if asked too early, it must be asked again. */
  get #hasNext(): boolean {
    return this.#waiting.length > 0 && this.#askingCount < this.#usable;
  }

  #giveNext(connection: SmtpConnection): void {
    const delivery = this.#waiting.shift();
    if (!delivery) return;
    const may = delivery.message.mayStillLeave?.() ?? true;
    if (may === true) connection.take(delivery);
    else void this.#checkPermission(delivery, may);
  }

  /** The message goes to the next connection with capacity, or back to the host. */
  async #checkPermission(delivery: Delivery, answer: boolean | Promise<boolean>): Promise<void> {
    this.#askingCount++;
    const may = await Promise.resolve(answer).catch(() => false);
    this.#askingCount--;
    if (!may) delivery.reject(unavailable('The message may not leave any more'));
    else if (this.#abort.signal.aborted) delivery.reject(unavailable('The driver is closed'));
    else this.#waiting.unshift(delivery);
    this.#pump();
  }

  #emptiestConnection(): SmtpConnection | undefined {
    let emptiest: SmtpConnection | undefined;
    for (const connection of this.#connections) {
      if (connection.capacity === 0) continue;
      if (!emptiest || connection.inFlightCount < emptiest.inFlightCount) emptiest = connection;
    }
    return emptiest;
  }

  #openMore(): void {
    const openCount = this.#connections.size + this.#openingCount;
    const wanted = Math.min(this.#waiting.length - this.#openingCount, this.#usable - openCount);
    for (let index = 0; index < wanted && this.#mayOpen(); index++) void this.#open();
  }

  /** After a failure one opening at a time; while another connection works, none until the waiting time is over. */
  #mayOpen(): boolean {
    if (this.#abort.signal.aborted) return false;
    if (this.#failureCount > 0 && this.#openingCount > 0) return false;
    return this.#connections.size === 0 || performance.now() >= this.#retryAt;
  }

  async #open(): Promise<void> {
    this.#openingCount++;
    const beganAt = performance.now();
    try {
      const session = await openSession({ ...this.#options, signal: this.#abort.signal });
      this.#openingCount--;
      this.#admit(session);
    } catch (error) {
      this.#openingCount--;
      if (!this.#isClosing) this.#options.onConnectionRefused?.(beganAt);
      this.#onTrouble(error instanceof SendingError ? error : unavailable(String(error)));
    }
    this.#pump();
  }

  #admit(session: Session): void {
    const listener = {
      onCapacity: (connection: SmtpConnection) => this.#feed(connection),
      onEnd: (connection: SmtpConnection, end: ConnectionEnd) => this.#onEnd(connection, end),
    };
    const mode = this.#modeFor(session.capabilities);
    this.#failureCount = 0;
    const { window, messages_per_connection: wanted, idle_seconds: idleSeconds } = this.#options.settings;
    const known = performance.now() < this.#limit.until ? this.#limit.messages : undefined;
    const messagesMax = known === undefined ? wanted : Math.min(wanted ?? known, known);
    this.#connections.add(new SmtpConnection({ session, mode, window, messagesMax, idleSeconds, listener }));
    // The number may have become smaller while it was opened.
    this.#retireSurplus();
  }

  #modeFor({ pipelining, chunking }: Capabilities): Mode {
    if (!pipelining || performance.now() < this.#lockstepUntil) return 'lockstep';
    return chunking && performance.now() >= this.#dataUntil ? 'chunked' : 'pipelined';
  }

  #onEnd(connection: SmtpConnection, end: ConnectionEnd): void {
    this.#connections.delete(connection);
    this.#waiting.unshift(...end.returned);
    if (end.isChunkingSuspect) this.#dataUntil = performance.now() + FALLBACK_MS;
    if (end.isPipeliningSuspect) this.#lockstepUntil = performance.now() + FALLBACK_MS;
    if (end.cutAfter !== undefined) this.#learnLimit(connection, end.cutAfter);
    if (end.closingReply) this.#onTrouble(end.closingReply);
    else if (end.acceptedNothing) this.#hold();
    this.#pump();
  }

  /**
   * A server with a limit of messages should say 421. One that just closes leaves the last messages with an unknown outcome, so
   * the limit is assumed after two connections in a row that accepted equally many. Connections that were open at the same time
   * count as one: they may have got equally many by chance.
   */
  #learnLimit(connection: SmtpConnection, after: number): void {
    const { after: before, at } = this.#lastCut;
    if (after === before && connection.openedAt > at)
      this.#limit = { messages: after, until: performance.now() + FALLBACK_MS };
    if (after !== before || connection.openedAt > at) this.#lastCut = { after, at: performance.now() };
  }

  /** The server says that it cannot be used: if no connection is left, waiting messages cannot be sent. */
  #onTrouble(error: SendingError): void {
    this.#hold();
    if (this.#connections.size === 0 && this.#openingCount === 0) this.#failWaiting(error);
  }

  #hold(): void {
    if (performance.now() >= this.#retryAt) {
      this.#retryAt = performance.now() + Math.min(RETRY_MS * 2 ** this.#failureCount, RETRY_MS_MAX);
      this.#failureCount++;
    }
    // connections that are lost together are one failure; one that was opened afterwards and is lost as well is another
    this.#failureCount = Math.max(1, this.#failureCount);
  }

  #failWaiting(error: SendingError): void {
    const given = this.#waiting;
    this.#waiting = [];
    for (const delivery of given) delivery.reject(error);
    if (this.#isClosing) this.#retireWhenDrained();
  }

  #retireWhenDrained(): void {
    if (this.#waiting.length + this.#askingCount > 0) return;
    for (const connection of this.#connections) connection.retire();
    if (this.#openingCount > 0) this.#abort.abort();
    if (this.#connections.size === 0 && this.#openingCount === 0) this.#closed?.resolve();
  }

  #cut(): void {
    this.#abort.abort();
    for (const connection of [...this.#connections]) connection.destroy(new Error('The driver was closed'));
    this.#failWaiting(unavailable('The driver is closed'));
  }
}
