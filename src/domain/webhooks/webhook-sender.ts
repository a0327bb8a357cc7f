/**
 * The sender of webhooks, one in each process with the role `worker`: takes what is due, of each receiver some, and sends several at a
 * time. It wakes by a notification and by a clock. Taking, sending and recording go on beside each other: a connection is used again when
 * its answer has come. What a worker had taken when it died is sent again by another one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import type { GroupCommit } from '../../lib/group-commit.ts';
import type { Context } from '../context.ts';
import { attemptDelivery, GONE } from './attempt-delivery.ts';
import { createAttemptRecorder, type EndedAttempt } from './attempt-recorder.ts';
import {
  freeDeliveriesOfDead,
  returnDeliveries,
  takeDeliveries,
  type Attempt,
  type TakenDelivery,
} from './delivery-store.ts';
import { ReceiverConnections } from './receiver-connections.ts';
import { ReceiverPlaces, type Waiting } from './receiver-places.ts';

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
/** However many are sent, it takes at most so often. */
const ROUND_MS_MIN = 25;
/** How `stop` looks whether all have ended. */
const LOOK_MS = 20;
/** Longer than the time that a delivery may wait here, and an attempt with its template and its time-out. */
const LEASE_SECONDS = 60;
const WAITING_MS_MAX = 30_000;

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
    void this.#giveBack(this.#places.drop());
  }

  async stop(graceMs: number): Promise<void> {
    this.beginStop();
    const endsAt = performance.now() + graceMs;
    let isBack = false;
    void this.#giveBack(this.#places.drop()).finally(() => (isBack = true));
    const isDone = () => isBack && this.#places.count === 0 && !this.#isTaking;
    while (!isDone() && performance.now() < endsAt) await sleep(LOOK_MS);
    // Requests that are still under way end with the process, and are sent again by another one.
    if (this.#places.count === 0) this.#connections.close();
  }

  get #isPaused(): boolean {
    return this.#isStopping || this.#reasons.size > 0;
  }

  async #onTick(): Promise<void> {
    const { db } = this.#means.ctx;
    await freeDeliveriesOfDead(db).catch((error: unknown) => this.#complain('webhooks.not_freed', error));
    this.wake();
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    while (this.#isWanted && !this.#isPaused) {
      this.#isWanted = false;
      await this.#takeRound().catch((error: unknown) => this.#complain('webhooks.not_taken', error));
      await sleep(ROUND_MS_MIN);
    }
    this.#isTaking = false;
  }

  async #takeRound(): Promise<void> {
    await this.#takeOf('quick');
    await this.#takeOf('others');
  }

  async #takeOf(kind: 'quick' | 'others'): Promise<void> {
    const next = this.#places.next(kind);
    if (this.#isPaused || !next) return;
    const { ctx, workerId } = this.#means;
    const startedAt = performance.now();
    const taken = await takeDeliveries(ctx.db, { owner: workerId, leaseSeconds: LEASE_SECONDS, ...next });
    // Its lease ended while its result could not be recorded: that work goes on.
    const added = taken.filter(({ id }) => !this.#places.has(id));
    if (this.#isPaused) return this.#giveBack(added);
    for (const delivery of added) this.#places.add(delivery, startedAt);
    for (const receiver of new Set(added.map((one) => one.receiver))) this.#sendNext(receiver);
  }

  /** Sends as many to the receiver as may be under way. */
  #sendNext(receiver: string): void {
    while (!this.#isPaused) {
      const next = this.#places.start(receiver);
      if (!next) return;
      void this.#send(next);
    }
  }

  /** Never rejects: what goes wrong here comes again when the lease ends. */
  async #send({ delivery, takenAt }: Waiting): Promise<void> {
    const { receiver } = delivery;
    const startedAt = performance.now();
    const isLate = startedAt - takenAt > WAITING_MS_MAX;
    // A template that is slow to be rendered holds a connection as long as a slow receiver does.
    const attempt = isLate ? undefined : await this.#attempt(delivery);
    this.#places.answered(delivery, attempt, performance.now() - startedAt);
    // One that is slow or dead now would let them wait for too long, and a webhook that is gone is paused.
    const isWell = this.#places.isQuick(receiver) && attempt?.status !== GONE;
    const dropped = isWell ? [] : this.#places.drop(receiver);
    this.#sendNext(receiver);
    if (attempt) await this.#record({ delivery, attempt });
    await this.#giveBack(isLate ? [delivery, ...dropped] : dropped);
    this.#places.end(delivery);
    this.#sendNext(receiver);
    this.wake();
  }

  async #attempt(delivery: TakenDelivery): Promise<Attempt | undefined> {
    const { ctx } = this.#means;
    if (delivery.status !== 'active') return { ...NOT_SENT, state: 'parked', delivery, attempt: delivery.attempts };
    try {
      return { delivery, ...(await attemptDelivery(ctx, this.#connections, delivery)) };
    } catch (error) {
      this.#complain('webhooks.not_sent', error, delivery);
      return undefined;
    }
  }

  async #record(ended: EndedAttempt): Promise<void> {
    await this.#recorder
      .add(ended)
      .catch((error: unknown) => this.#complain('webhooks.not_recorded', error, ended.delivery));
  }

  /** If it fails, their leases end. */
  async #giveBack(deliveries: readonly TakenDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    const { ctx, workerId } = this.#means;
    const ids = deliveries.map(({ id }) => id);
    await returnDeliveries(ctx.db, workerId, ids).catch((error: unknown) =>
      this.#complain('webhooks.not_returned', error),
    );
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
