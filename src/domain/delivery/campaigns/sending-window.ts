/**
 * Which recipients of a batch are next, and how many may be in flight at once: limited by the server's permits, memory, the plan
 * and the gate. Knows nothing about messages and outcomes.
 */
import { domainOf } from '../../../lib/mail-domain.ts';
import type { Context } from '../../context.ts';
import type { SendingChannel } from '../../sending/driver-pool.ts';
import type { Permits } from '../../sending/fair-permits.ts';
import type { WaitingRecipient } from '../../sending/routing/waiting.ts';
import type { Admission } from '../../sending/sending-gate.ts';
import type { LeasedDelivery } from '../ledger/delivery.ts';
import { LoopMemory } from '../messages/message-memory.ts';

/** A recipient at the gate of a server. */
export interface Recipient extends WaitingRecipient {
  readonly delivery: LeasedDelivery;
}

export interface WindowInput {
  readonly customerId: bigint;
  readonly channel: SendingChannel;
  readonly claimed: readonly LeasedDelivery[];
  /** So many may be accepted or have an unknown outcome; refused ones do not count. */
  readonly sendsMax: number;
  /** Of one copy of the message. */
  readonly messageBytes: number;
}

export class SendingWindow {
  readonly #input: WindowInput;
  readonly #permits: Permits;
  /** In reverse: the last one is next. */
  readonly #waiting: LeasedDelivery[];
  /** For large messages, fewer than the server would take. */
  readonly #memory: LoopMemory;
  #open = 0;
  #sendsLeft: number;

  constructor(input: WindowInput) {
    this.#input = input;
    this.#permits = input.channel.permits.of(input.customerId);
    this.#waiting = [...input.claimed].reverse();
    this.#memory = new LoopMemory(input.customerId, input.messageBytes);
    this.#sendsLeft = input.sendsMax;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether the plan allows another one, if none in flight returns its send. */
  get hasSends(): boolean {
    return this.#sendsLeft > 0;
  }

  /** Recipients that were let go and have no outcome yet; each holds a permit. */
  get open(): number {
    return this.#open;
  }

  /** Takes permits for the next ones; 0: none is free, or the memory is full. */
  takePermits(): number {
    const fitting = this.#memory.tryTake(Math.min(this.#waiting.length, this.#sendsLeft));
    const permits = fitting > 0 ? this.#permits.tryTake(fitting) : 0;
    this.#memory.give(fitting - permits);
    return permits;
  }

  /** Resolves when a permit may be free, or memory when that is full. */
  whenPermitsAreFree(): Promise<void> {
    return this.#memory.hasSpace() ? this.#permits.whenFree() : this.#memory.whenGiven();
  }

  /**
   * Asks the gate for as many as there are permits. Those that may go are open; those that are neither let go nor sent back are
   * next again. Their permits are returned, also when the gate fails.
   */
  async admit(ctx: Context, permits: number): Promise<Admission<Recipient>> {
    const { channel, customerId } = this.#input;
    const next = this.#waiting.splice(this.#waiting.length - permits, permits).reverse();
    const beganAt = performance.now();
    const recipients = next.map((delivery) => ({ delivery, domain: domainOf(delivery.email), beganAt }));
    let gone = 0;
    try {
      const admission = await channel.gate.admit(ctx, customerId, recipients);
      gone = admission.go.length;
      this.#open += gone;
      this.#sendsLeft -= gone;
      if (gone < recipients.length) this.#putBack(recipients, admission);
      return admission;
    } finally {
      this.#giveBack(permits - gone);
    }
  }

  #putBack(recipients: readonly Recipient[], { go, later }: Admission<Recipient>): void {
    const answered = new Set([...go, ...later.map(({ recipient }) => recipient)]);
    const others = recipients.filter((recipient) => !answered.has(recipient)).map(({ delivery }) => delivery);
    this.#waiting.push(...others.toReversed());
  }

  /** So many have an outcome; `spent` of them used a send. */
  close({ count, spent }: { count: number; spent: number }): void {
    this.#open -= count;
    this.#sendsLeft += count - spent;
    this.#giveBack(count);
  }

  #giveBack(count: number): void {
    this.#permits.give(count);
    this.#memory.give(count);
  }
}
