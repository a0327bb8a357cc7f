/**
 * The sender of webhooks, one in each process with the role `worker`: takes what is due, of each receiver some, and sends several at a
 * time. It wakes by a notification and by a clock. What a worker had taken when it died is sent again by another one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import type { GroupCommit } from '../../lib/group-commit.ts';
import type { Context } from '../context.ts';
import { attemptDelivery } from './attempt-delivery.ts';
import { createAttemptRecorder, type EndedAttempt } from './attempt-recorder.ts';
import { freeDeliveriesOfDead, takeDeliveries, type Attempt, type TakenDelivery } from './delivery-store.ts';
import { ReceiverConnections } from './receiver-connections.ts';
import { ReceiverPlaces } from './receiver-places.ts';

export interface WebhookSender {
  /** Deliveries were added. */
  wake(): void;
  /** Waits for the requests under way, at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
  beginStop(): void;
  /** Sends nothing as long as there is a reason. */
  pause(reason: string): void;
  resume(reason: string): void;
}

interface Means {
  readonly ctx: Context;
  /** The name of this process in leases; it must be held as long as the process lives. */
  readonly workerId: string;
  readonly pausedFor?: string | undefined;
}

/** Notifications may get lost, retries become due, and what dead processes had must be found. */
const TICK_MS = 1_000;
/** Longer than an attempt with its template and its time-out. */
const LEASE_SECONDS = 60;

/** Starts it. */
export function startWebhookSender(means: Means): WebhookSender {
  const sender = new Sender(means);
  sender.start();
  return sender;
}

class Sender implements WebhookSender {
  readonly #means: Means;
  readonly #reasons = new Set<string>();
  readonly #places = new ReceiverPlaces();
  readonly #connections: ReceiverConnections;
  readonly #recorder: GroupCommit<EndedAttempt>;
  #isStopping = false;
  #isTaking = false;
  /** Look again when the present look has ended. */
  #isWanted = false;
  #tick: NodeJS.Timeout | undefined;

  constructor(means: Means) {
    this.#means = means;
    this.#connections = new ReceiverConnections(means.ctx.installation);
    this.#recorder = createAttemptRecorder(means.ctx, means.workerId);
    if (means.pausedFor !== undefined) this.#reasons.add(means.pausedFor);
  }

  start(): void {
    this.#tick = setInterval(() => void this.#onTick(), TICK_MS);
    this.wake();
  }

  wake(): void {
    this.#isWanted = true;
    if (!this.#isTaking) void this.#take();
  }

  beginStop(): void {
    clearInterval(this.#tick);
    this.#isStopping = true;
  }

  resume(reason: string): void {
    if (this.#reasons.delete(reason)) this.wake();
  }

  pause(reason: string): void {
    this.#reasons.add(reason);
  }

  async stop(graceMs: number): Promise<void> {
    this.beginStop();
    const grace = new AbortController();
    const isOver = sleep(graceMs, 'over', { signal: grace.signal }).catch(() => 'over');
    while (this.#places.count > 0 || this.#isTaking) {
      const next = Promise.race([this.#places.ended(), sleep(TICK_MS, undefined, { signal: grace.signal })]);
      if ((await Promise.race([isOver, next.catch(() => undefined)])) === 'over') break;
    }
    grace.abort();
    // Requests that are still under way end with the process, and are sent again by another one.
    if (this.#places.count === 0) this.#connections.close();
  }

  async #onTick(): Promise<void> {
    const { db } = this.#means.ctx;
    await freeDeliveriesOfDead(db).catch((error: unknown) => this.#complain('webhooks.not_freed', error));
    this.wake();
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    try {
      do {
        this.#isWanted = false;
        await this.#takeRound();
      } while (this.#isWanted);
    } catch (error) {
      this.#complain('webhooks.not_taken', error);
    } finally {
      this.#isTaking = false;
    }
  }

  async #takeRound(): Promise<void> {
    await this.#takeOf('quick');
    await this.#takeOf('others');
  }

  async #takeOf(kind: 'quick' | 'others'): Promise<void> {
    const next = this.#places.next(kind);
    if (this.#isStopping || this.#reasons.size > 0 || !next) return;
    const { ctx, workerId } = this.#means;
    const taken = await takeDeliveries(ctx.db, { owner: workerId, leaseSeconds: LEASE_SECONDS, ...next });
    for (const delivery of taken) {
      // Its lease ended while its result could not be recorded: that work goes on.
      if (this.#places.has(delivery.id)) continue;
      void this.#places.hold(delivery, this.#send(delivery)).then(() => this.wake());
    }
  }

  /**
   * Never rejects: what goes wrong here comes again when the lease ends. Answers how long the receiver took, with its template: one that is
   * slow to be rendered holds its place as long as a slow receiver does.
   */
  async #send(delivery: TakenDelivery): Promise<number | undefined> {
    try {
      const startedAt = performance.now();
      const attempt = await this.#attempt(delivery);
      const answeredMs = attempt.status === null ? undefined : performance.now() - startedAt;
      await this.#recorder.add({ delivery, attempt });
      return answeredMs;
    } catch (error) {
      this.#complain('webhooks.not_sent', error, delivery);
      return undefined;
    }
  }

  async #attempt(delivery: TakenDelivery): Promise<Attempt> {
    const { ctx } = this.#means;
    if (delivery.status === 'active') return { delivery, ...(await attemptDelivery(ctx, this.#connections, delivery)) };
    return { ...NOT_SENT, state: 'parked', delivery, attempt: delivery.attempts };
  }

  #complain(event: string, error: unknown, delivery?: TakenDelivery): void {
    const { log } = this.#means.ctx;
    log.warn(event, { message: messageOf(error), ...(delivery ? { deliveryUid: delivery.uid } : {}) });
  }
}

/** Its webhook was paused or switched off after it was taken. */
const NOT_SENT = {
  ...{ delaySeconds: null, request: null, status: null, durationMs: 0, answer: null, error: null, body: null },
} as const;
