/**
 * The noun: how patient a customer is with mailboxes that do not take its mail. A hard bounce suppresses at once and a
 * complaint suppresses and unsubscribes, whatever anybody sets: both are promises to the world, not preferences. What
 * may be set is how many soft bounces, within how many days, are as good as a hard one.
 */
import { z } from 'zod';
import { parseInput } from '../../lib/text.ts';
import { viewerOf, type Context } from '../context.ts';
import { SOFT_BOUNCE_DAYS_MAX, SOFT_BOUNCE_LIMIT_MAX } from '../limits.ts';
import { ownBouncePolicy, writeBouncePolicy } from './bounce-policy-store.ts';

/** What holds where nobody has set anything else: about what the large services do. */
const LIMIT_DEFAULT = 5;
const DAYS_DEFAULT = 30;

/** Soft bounces of different messages within so many days suppress an address; limit 0: never. */
export interface BouncePolicy {
  readonly softBounceLimit: number;
  readonly softBounceDays: number;
  /** False: the installation's. */
  readonly isOwn: boolean;
}

const policyInput = z.object({
  softBounceLimit: z.int().min(0).max(SOFT_BOUNCE_LIMIT_MAX).nullable().optional(),
  softBounceDays: z.int().min(1).max(SOFT_BOUNCE_DAYS_MAX).nullable().optional(),
});

export type BouncePolicyInput = z.input<typeof policyInput>;

/** The policy of the caller's customer. */
export async function bouncePolicyOfCustomer(ctx: Context): Promise<BouncePolicy> {
  return policyOf(ctx, viewerOf(ctx).customerId);
}

/** The policy that holds for a customer: its own, else the installation's. */
export async function policyOf(
  { db, installation }: Pick<Context, 'db' | 'installation'>,
  customerId: bigint,
): Promise<BouncePolicy> {
  const own = await ownBouncePolicy(db, customerId);
  const { limit = LIMIT_DEFAULT, days = DAYS_DEFAULT } = installation.softBounces ?? {};
  return {
    softBounceLimit: own?.limit ?? limit,
    softBounceDays: own?.days ?? days,
    isOwn: (own?.limit ?? own?.days ?? null) !== null,
  };
}

/** Changes what is given; null goes back to what the installation says. Throws ValidationError. */
export async function updateBouncePolicy(ctx: Context, input: BouncePolicyInput): Promise<BouncePolicy> {
  const { customerId } = viewerOf(ctx);
  const wanted = parseInput(policyInput, input);
  await writeBouncePolicy(ctx.db, customerId, wanted);
  return policyOf(ctx, customerId);
}
