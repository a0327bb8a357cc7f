/**
 * What a customer's plan still allows to send: credits of the billing period (`email_max`), the quota per time (`sending_quota`),
 * sending jobs at once (`max_process`). A sending job leases a slice before it leases recipients and returns what it did not use;
 * what was sent is in the ledger's counters. So nothing is counted twice or lost, no row is written per message, and no number of
 * workers exceeds a limit. Tests and the automatic mails of lists do not count.
 */
import { sql, row, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { assert } from '../../lib/errors.ts';
import type { SourceKey } from '../source-key.ts';
import { limitOf, type Allowance } from '../billing/plans/allowance.ts';

/** The range of the ledger that a job works on. */
export interface SendRange extends SourceKey {
  readonly snapshotOn: string;
  readonly fromId: bigint;
  readonly toId: bigint;
}

/** `credits`, `quota`: used up until a time. `processes`, `held`: held by other jobs now. */
export type BudgetRefusal = 'credits' | 'quota' | 'processes' | 'held';

const SEND_LEASE_ROW = row({
  /** Null: nothing to return. */
  sliceId: 'bigint?',
  granted: 'int',
  /** Why nothing was granted. */
  refusal: typed<BudgetRefusal>('text?'),
  /** Of a used up quota: when the first of the messages in its window leaves it. Null: never, the quota is 0. */
  quotaEndsAt: 'timestamptz?',
});
export type SendLease = RowOf<typeof SEND_LEASE_ROW>;

interface LeaseRequest {
  readonly range: SendRange;
  readonly allowance: Allowance;
  readonly workerId: string;
  readonly wanted: number;
}

/** Takes up to `wanted` messages from the customer's budget. A customer without a plan needs no lease. */
export async function leaseSends(db: Queryable, request: LeaseRequest): Promise<SendLease> {
  const { range, allowance, workerId, wanted } = request;
  const { creditsMax, quotaMax, processesMax } = sendLimits(allowance);
  const [row] = await db.query(
    SEND_LEASE_ROW,
    sql`SELECT slice_id AS "sliceId", granted, refusal, ends_at AS "quotaEndsAt"
          FROM hot.lease_sends(${range.customerId}, ${range.sourceKind}, ${range.sourceId}, ${range.snapshotOn}::date, ${range.fromId}, ${range.toId},
                               ${workerId}::uuid, ${wanted}::int, ${creditsMax}::bigint, ${creditsPeriod(allowance)},
                               ${quotaMax}::bigint, ${quotaLength(allowance)}, ${processesMax}::int)`,
    'sending.lease-sends',
  );
  assert(row, 'a lease is always answered');
  return row;
}

/** There were fewer recipients than leased messages. */
export async function shrinkLease(db: Queryable, customerId: bigint, slice: { id: bigint; to: number }): Promise<void> {
  await db.execute(
    sql`UPDATE hot.send_slice SET amount = ${slice.to} WHERE customer_id = ${customerId} AND id = ${slice.id}`,
    'sending.shrink-lease',
  );
}

export interface ReturnedSlice {
  readonly id: bigint;
  readonly allowance: Allowance;
  /** The job broke off: messages in flight may be undecided. The slice keeps their number until they are decided. */
  readonly isBroken: boolean;
}

/** Returns what was not sent, and counts what was. */
export async function returnLease(db: Queryable, customerId: bigint, slice: ReturnedSlice): Promise<void> {
  if (slice.isBroken) {
    await db.execute(
      sql`UPDATE hot.send_slice SET is_over = true WHERE customer_id = ${customerId} AND id = ${slice.id}`,
    );
    await db.execute(sql`SELECT hot.end_expired_slices(${customerId})::text`);
    return;
  }
  const { quotaMax } = sendLimits(slice.allowance);
  await db.execute(
    sql`SELECT hot.return_sends(${customerId}, ${slice.id}, ${quotaMax === null ? null : quotaLength(slice.allowance)})::text`,
    'sending.return-lease',
  );
}

/**
 * The ledger no longer counts so many messages as sent, because their outcome is unknown and they are sent again. They may have
 * arrived, so they stay in the quota's window; credits are returned.
 */
export async function keepInQuota(db: Queryable, customerId: bigint, count: number): Promise<void> {
  await db.execute(sql`SELECT hot.lower_sent_in_quota(${customerId}, ${count})::text`);
}

/** What is used and left of the plan's budget, counted like the leases. */
export interface SendUsage {
  readonly creditsUsed: number;
  /** Null: no limit. */
  readonly creditsMax: number | null;
  readonly creditsEndAt: Date | null;
  /** Sent within the quota's time, up to now; 0 without a quota. */
  readonly quotaUsed: number;
  readonly quotaMax: number | null;
  /** When the first of them no longer counts, or, of a used up quota, when sending continues; null: none counts. */
  readonly quotaEndsAt: Date | null;
  /** What jobs have leased and not sent yet. */
  readonly reserved: number;
}

/** How much of its budget the customer has used. */
export async function sendUsage(db: Queryable, customerId: bigint, allowance: Allowance): Promise<SendUsage> {
  const { creditsMax, quotaMax } = sendLimits(allowance);
  const [row] = await db.query(
    { credits: 'float8', quota: 'float8', quotaEndsAt: 'timestamptz?', reserved: 'float8' },
    sql`SELECT CASE WHEN b.credits_period = ${creditsPeriod(allowance)} THEN d.delivered - b.credits_baseline ELSE 0 END::float8 AS credits,
               CASE WHEN q.max IS NULL THEN 0 ELSE d.delivered - w.totals[1] END::float8 AS quota,
               hot.room_in_window_at(w.times, w.totals, d.delivered, q.max, q.length) AS "quotaEndsAt",
               (SELECT coalesce(sum(s.amount), 0) FROM hot.send_slice s WHERE s.customer_id = b.customer_id)::float8 AS reserved
          FROM hot.send_budget b
         CROSS JOIN LATERAL (SELECT coalesce(sum(c.sent + c.unknown), 0)::bigint AS delivered FROM hot.delivery_counter c WHERE c.customer_id = b.customer_id) d
         CROSS JOIN (SELECT ${quotaMax}::bigint AS max, (${quotaLength(allowance)})::interval AS length) q
         CROSS JOIN LATERAL hot.slide_window(b.quota_times, b.quota_totals, d.delivered, clock_timestamp(), q.length) w
         WHERE b.customer_id = ${customerId}`,
    'sending.usage',
  );
  const { credits = 0, quota = 0, quotaEndsAt = null, reserved = 0 } = row ?? {};
  const creditsEndAt = allowance.periodEndsAt;
  return { creditsUsed: credits, creditsMax, creditsEndAt, quotaUsed: quota, quotaMax, quotaEndsAt, reserved };
}

/** Messages that may be sent now; null: unlimited. */
export function remainingIn({ creditsMax, creditsUsed, quotaMax, quotaUsed }: SendUsage): number | null {
  if (creditsMax === null && quotaMax === null) return null;
  return Math.max(0, Math.min((creditsMax ?? Infinity) - creditsUsed, (quotaMax ?? Infinity) - quotaUsed));
}

function sendLimits(allowance: Allowance) {
  const { options } = allowance;
  return {
    creditsMax: limitOf(allowance, 'email_max'),
    quotaMax: unlimitedBelowZero(options.sending_quota),
    processesMax: unlimitedBelowZero(options.max_process),
  };
}

function unlimitedBelowZero(text: string): number | null {
  return Number(text) < 0 ? null : Number(text);
}

/**
 * A period by its beginning, in the form of hot.credits_period: a renewal brings new credits, moving the end of the period does
 * not, and a change of plan only those for the rest of the time (hot.carry_credits).
 */
function creditsPeriod({ subscriptionId, periodStartedAt }: Allowance): string {
  return `${subscriptionId ?? ''}:${periodStartedAt?.toISOString() ?? ''}`;
}

/** Longer times mean no quota, and the database's calendar must contain them. */
const QUOTA_TIME_MAX = 1_000;

function quotaLength({ options }: Allowance): string {
  const time = Math.min(Math.max(1, Number(options.sending_quota_time)), QUOTA_TIME_MAX);
  return `${time} ${options.sending_quota_time_unit}`;
}
