/**
 * What a customer may do now: the options of its subscription's plan, overridden by the subscription's own. The operator's
 * account and customers that never had a plan are not limited; a customer whose last subscription ended may read, but nothing new
 * is created or sent (decision record 0050).
 */
import type { Queryable } from '../../db/database.ts';
import { parsePlanOptions, type PlanOptions } from './plan-options.ts';
import { findSubscriptionInForce } from './subscription-read-model.ts';

/** Why a customer has the allowance it has. */
export type AllowanceSource = 'unlimited' | 'plan' | 'ended';

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
  if (!row || row.isOperator || row.id === null) return { ...UNLIMITED, options: UNLIMITED_OPTIONS };
  const { id, planUid, planName, periodStartedAt, periodEndsAt, isTrial } = row;
  const source = row.isRunning === true ? 'plan' : 'ended';
  const plan = { subscriptionId: id, planUid, planName, periodStartedAt, periodEndsAt, isTrial };
  return { source, ...plan, options: parsePlanOptions(row.options ?? {}) };
}

/** A limit as a number; null is unlimited. */
export function limitOf(
  allowance: Allowance,
  name: keyof { [Key in keyof PlanOptions as Key extends `${string}_max` ? Key : never]: true },
): number | null {
  const number = Number(allowance.options[name]);
  return number < 0 ? null : number;
}

const UNLIMITED = {
  source: 'unlimited',
  subscriptionId: null,
  planUid: null,
  planName: null,
  periodStartedAt: null,
  periodEndsAt: null,
  isTrial: false,
} as const;

const UNLIMITED_OPTIONS: PlanOptions = parsePlanOptions({
  sending_server_option: 'own',
  max_size_upload_total: '-1',
  max_file_size_upload: '-1',
});
