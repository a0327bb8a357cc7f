/**
 * The plan's credits and quota for mails of flows, and those that go as they do, which take them as campaigns do. Mails that ask at the same time share a slice
 * (send-budget-store.ts), so that not each of them locks the customer's budget.
 */
import { setImmediate } from 'node:timers/promises';
import { messageOf } from '../../../lib/errors.ts';
import { allowanceOf, limitOf, maySend, type Allowance } from '../../billing/plans/allowance.ts';
import type { Context } from '../../context.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import { leaseSends, returnLease } from '../../sending/send-budget-store.ts';
import type { TakenMessage } from '../messages/message-queue-store.ts';

/** Why a mail has to wait. */
export interface Held {
  readonly reason: DeliveryReason;
  readonly delaySeconds: number;
  /** Only mails to the same provider have to wait. */
  readonly isOfDomain?: true;
}

interface Slice {
  readonly id: bigint;
  readonly customerId: bigint;
  readonly allowance: Allowance;
  open: number;
}

interface Asking {
  readonly message: TakenMessage;
  resolve(held: Held | undefined): void;
  reject(error: unknown): void;
}

/** Other jobs hold what is left: they return what they do not use in a moment. */
const HELD_SECONDS = 2;
/** A used up plan may be changed meanwhile. */
const USED_UP_SECONDS = 600;

/** Of one process. */
export class FlowBudget {
  readonly #means: Pick<Context, 'db' | 'log'>;
  readonly #workerId: string;
  readonly #slices = new Map<bigint, Slice>();
  readonly #asking = new Map<string, Asking[]>();

  constructor(means: Pick<Context, 'db' | 'log'>, workerId: string) {
    this.#means = means;
    this.#workerId = workerId;
  }

  /** Takes one send for the message; or why there is none now. Whoever took one calls `ended`. */
  take(message: TakenMessage): Promise<Held | undefined> {
    const { customerId, sourceKind, sourceId, snapshotOn } = message;
    const key = `${customerId} ${sourceKind} ${sourceId} ${snapshotOn}`;
    return new Promise((resolve, reject) => {
      const asking = this.#asking.get(key) ?? [];
      asking.push({ message, resolve, reject });
      if (asking.length > 1) return;
      this.#asking.set(key, asking);
      void this.#leaseAll(key);
    });
  }

  /** The outcome of the message is recorded: its send is counted, or free again. */
  async ended(messageId: bigint): Promise<void> {
    const slice = this.#slices.get(messageId);
    if (!slice) return;
    this.#slices.delete(messageId);
    slice.open -= 1;
    if (slice.open > 0) return;
    const { customerId, id, allowance } = slice;
    await returnLease(this.#means.db, customerId, { id, allowance, isBroken: false }).catch((error: unknown) =>
      // It ends by itself after some minutes (hot.end_expired_slices).
      this.#means.log.warn('messages.slice_not_returned', { customerId, message: messageOf(error) }),
    );
  }

  async #leaseAll(key: string): Promise<void> {
    await setImmediate();
    const asking = this.#asking.get(key) ?? [];
    this.#asking.delete(key);
    try {
      await this.#lease(asking);
    } catch (error) {
      for (const one of asking) one.reject(error);
    }
  }

  async #lease(asking: readonly Asking[]): Promise<void> {
    const [first] = asking;
    if (!first) return;
    const { db } = this.#means;
    const { customerId, sourceKind, sourceId, snapshotOn } = first.message;
    const allowance = await allowanceOf(db, customerId);
    if (allowance.source === 'unlimited') return asking.forEach(({ resolve }) => resolve(undefined));
    if (!maySend(allowance)) return hold(asking, { reason: 'no_plan', delaySeconds: USED_UP_SECONDS });
    const ids = asking.map(({ message }) => message.recipientId).sort((a, b) => (a < b ? -1 : 1));
    const range = { customerId, sourceKind, sourceId, snapshotOn, fromId: ids[0] ?? 0n, toId: ids.at(-1) ?? 0n };
    const lease = await leaseSends(db, { range, allowance, workerId: this.#workerId, wanted: asking.length });
    const granted = asking.slice(0, lease.granted);
    if (lease.sliceId !== null) {
      const slice: Slice = { id: lease.sliceId, customerId, allowance, open: granted.length };
      for (const { message } of granted) this.#slices.set(message.id, slice);
    }
    for (const { resolve } of granted) resolve(undefined);
    // Without a limit of credits it is the quota that others hold.
    const isOfQuota = lease.refusal === 'quota' || limitOf(allowance, 'email_max') === null;
    const isUsedUp = lease.refusal === 'quota' || lease.refusal === 'credits';
    const until = lease.refusal === 'quota' ? lease.quotaEndsAt : allowance.periodEndsAt;
    const delaySeconds = isUsedUp ? secondsUntil(until) : HELD_SECONDS;
    hold(asking.slice(granted.length), { reason: isOfQuota ? 'plan_quota' : 'plan_credits', delaySeconds });
  }
}

function hold(asking: readonly Asking[], held: Held): void {
  for (const { resolve } of asking) resolve(held);
}

function secondsUntil(until: Date | null): number {
  const seconds = until === null ? USED_UP_SECONDS : (until.getTime() - Date.now()) / 1_000;
  return Math.min(USED_UP_SECONDS, Math.max(HELD_SECONDS, seconds));
}
