/**
 * The noun: a payment intent, one try to pay one invoice (specification 3.6), its states and when the vendor is asked about it next. Pure:
 * move-intent.ts is the only place that writes a state.
 */
import { row, typed, type RowOf } from '../../../db/database.ts';

export const paymentStatuses = [
  'PENDING',
  'REQUIRES_ACTION',
  'AWAITING_ADMIN_APPROVAL',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
] as const;
export type PaymentStatus = (typeof paymentStatuses)[number];

export const PAYMENT_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  invoiceId: 'bigint',
  method: 'text',
  gatewayId: 'bigint?',
  methodId: 'bigint?',
  status: typed<PaymentStatus>('text'),
  amountMinor: 'bigint',
  currencyCode: 'text',
  reference: 'text?',
  remotePlanId: 'text?',
  createdAt: 'timestamptz',
  decidedAt: 'timestamptz?',
  chargedAt: 'timestamptz?',
  cancelSaidAt: 'timestamptz?',
  syncedAt: 'timestamptz?',
  latePaidAt: 'timestamptz?',
  refundedMinor: 'bigint',
  creditedMinor: 'bigint',
});
export type Payment = RowOf<typeof PAYMENT_ROW>;

const OPEN: readonly PaymentStatus[] = ['PENDING', 'REQUIRES_ACTION', 'AWAITING_ADMIN_APPROVAL'];

export function isOpen({ status }: Pick<Payment, 'status'>): boolean {
  return OPEN.includes(status);
}

/** The states from which an intent may come into each one. SUCCEEDED, FAILED and CANCELLED are final. */
export const STATUSES_BEFORE: Readonly<Record<PaymentStatus, readonly PaymentStatus[]>> = {
  PENDING: ['REQUIRES_ACTION'],
  REQUIRES_ACTION: ['PENDING'],
  AWAITING_ADMIN_APPROVAL: ['PENDING'],
  SUCCEEDED: OPEN,
  FAILED: OPEN,
  CANCELLED: OPEN,
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A checkout whose vendor was never asked for anything: the browser did not get there. */
export const UNBEGUN_HOURS_MAX = 24;
/** A checkout of a vendor ends within a day; banks may report days later. */
const LATE_DAYS = 14;
/** Most money that is paid back is paid back within a month. */
const REFUND_DAYS = 30;

/** When the vendor's state of an intent is read next; null: no more. */
export function nextSyncAt(
  intent: Pick<Payment, 'gatewayId' | 'reference' | 'status' | 'createdAt' | 'decidedAt'> & {
    latePaidAt?: Date | null;
  },
  at: Date,
): Date | null {
  const { gatewayId, reference, status, createdAt, decidedAt, latePaidAt = null } = intent;
  if (gatewayId === null || status === 'AWAITING_ADMIN_APPROVAL') return null;
  if (isOpen(intent)) {
    if (reference === null) return new Date(createdAt.getTime() + UNBEGUN_HOURS_MAX * HOUR_MS);
    const age = at.getTime() - createdAt.getTime();
    return later(at, age < HOUR_MS ? MINUTE_MS : age < DAY_MS ? 10 * MINUTE_MS : HOUR_MS);
  }
  if (reference === null || decidedAt === null) return null;
  const paidAt = status === 'SUCCEEDED' ? decidedAt : latePaidAt;
  if (paidAt !== null) return at.getTime() - paidAt.getTime() > REFUND_DAYS * DAY_MS ? null : later(at, DAY_MS);
  if (at.getTime() - decidedAt.getTime() > LATE_DAYS * DAY_MS) return null;
  return later(at, at.getTime() - decidedAt.getTime() < DAY_MS ? HOUR_MS : 6 * HOUR_MS);
}

function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}
