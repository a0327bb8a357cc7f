/**
 * What a customer may do now: the options of its subscription's plan, overridden by the subscription's own. The operator's
 * account is not limited (D45). Without a running subscription a customer reads and pays; while its first one waits for payment
 * it also prepares, and sends nothing (D55, decision record 0050).
 */
import type { Queryable } from '../../../db/database.ts';
import { parsePlanOptions, type PlanOptions } from './plan-options.ts';
import { findSubscriptionInForce } from '../subscriptions/subscription-read-model.ts';

/**
 * Why a customer has the allowance it has: `unlimited` (the operator's account), `plan` (a running subscription), `pending` (its
 * first one waits for payment), `ended` (the last one), `none` (there was never one).
 */
export type AllowanceSource = 'unlimited' | 'plan' | 'pending' | 'ended' | 'none';

export interface Allowance {
  readonly source: AllowanceSource;
  /** Null without a plan. */
  readonly subscriptionId: bigint | null;
  readonly planUid: string | null;
  readonly planName: string | null;
  /** The period for which credits (`email_max`) are counted. */
  readonly periodStartedAt: Date | null;
  readonly periodEndsAt: Date | null;
  /** A plan without a price is the operator's trial: there are no other ones. */
  readonly isTrial: boolean;
  readonly options: PlanOptions;
}

/** The allowance of a customer, by the database's clock. */
export async function allowanceOf(db: Queryable, customerId: bigint): Promise<Allowance> {
  const row = await findSubscriptionInForce(db, customerId);
  if (!row || row.isOperator) return { source: 'unlimited', ...WITHOUT_PLAN, options: UNLIMITED_OPTIONS };
  if (row.id === null) return { source: 'none', ...WITHOUT_PLAN, options: UNLIMITED_OPTIONS };
  const { id, planUid, planName, periodStartedAt, periodEndsAt, isTrial } = row;
  const source = sourceOf(row);
  const plan = { subscriptionId: id, planUid, planName, periodStartedAt, periodEndsAt, isTrial };
  return { source, ...plan, options: parsePlanOptions(row.options ?? {}) };
}

function sourceOf({ isRunning, isPending }: { isRunning: boolean | null; isPending: boolean | null }) {
  if (isRunning === true) return 'plan';
  return isPending === true ? 'pending' : 'ended';
}

/** Whether the customer may make something new (lists, people, campaigns), within its limits. */
export function mayPrepare({ source }: Allowance): boolean {
  return source === 'unlimited' || source === 'plan' || source === 'pending';
}

/** Whether mails to other people may be sent for the customer. */
export function maySend({ source }: Allowance): boolean {
  return source === 'unlimited' || source === 'plan';
}

/** A limit as a number; null is unlimited. */
export function limitOf(
  allowance: Allowance,
  name: keyof { [Key in keyof PlanOptions as Key extends `${string}_max` ? Key : never]: true },
): number | null {
  const number = Number(allowance.options[name]);
  return number < 0 ? null : number;
}

const WITHOUT_PLAN = {
  subscriptionId: null,
  planUid: null,
  planName: null,
  periodStartedAt: null,
  periodEndsAt: null,
  isTrial: false,
} as const;

const UNLIMITED_OPTIONS: PlanOptions = parsePlanOptions({
  sending_server_option: 'own',
  create_email_verification_servers: 'yes',
  max_size_upload_total: '-1',
  max_file_size_upload: '-1',
});
