/**
 * The only place where the state of a payment intent changes (specification 3.6). Plugins never move one: the host reads what the vendor
 * says and calls this. Every move is conditional, and final states stay.
 */
import { cancelIntentJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import type { BillingWork } from '../billing-work.ts';
import { nextSyncAt, type Payment, type PaymentStatus } from './payment-intent.ts';
import { writeStatus } from './payment-store.ts';

const FINAL: readonly PaymentStatus[] = ['SUCCEEDED', 'FAILED', 'CANCELLED'];

export interface Move {
  readonly to: PaymentStatus;
  /** Uid of the administrator who decided; absent: the program. */
  readonly by?: string | null;
  readonly reason?: string | null;
}

/**
 * Moves the intent; undefined when it cannot come into this state from the one that it is in now. A cancelled one is made unpayable at its
 * vendor by a job of the same transaction.
 */
export async function moveIntent(
  { ctx, at }: BillingWork,
  intent: Payment,
  { to, by = null, reason = null }: Move,
): Promise<Payment | undefined> {
  const decidedAt = FINAL.includes(to) ? at : null;
  const next = nextSyncAt({ ...intent, status: to, decidedAt }, at);
  const moved = await writeStatus(ctx.db, intent, { to, at, by, reason, decidedAt, nextSyncAt: next });
  if (moved && to === 'CANCELLED' && moved.gatewayId !== null && moved.reference !== null) {
    const { customerId, uid } = moved;
    await enqueue(
      ctx.db,
      cancelIntentJob,
      { customerId: String(customerId), intentUid: uid },
      { key: `cancel-intent:${uid}` },
    );
  }
  return moved;
}
