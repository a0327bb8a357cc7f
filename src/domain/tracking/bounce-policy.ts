/**
 * The noun: how many bounces of a mailbox a customer tolerates. A hard bounce suppresses at once and a complaint suppresses and
 * unsubscribes, and neither can be changed. What can be set is how many soft bounces, within how many days, count like a hard
 * one.
 */
import { z } from 'zod';
import { parseInput } from '../../lib/text.ts';
import { viewerOf, type Context } from '../context.ts';
import { SOFT_BOUNCE_DAYS_MAX, SOFT_BOUNCE_LIMIT_MAX } from '../limits.ts';
import { ownBouncePolicy, writeBouncePolicy } from './bounce-policy-store.ts';

/** The default, similar to large services. */
const LIMIT_DEFAULT = 5;
const DAYS_DEFAULT = 30;

/** Soft bounces of different messages within so many days suppress an address; limit 0: never. */
export interface BouncePolicy {
  readonly softBounceLimit: number;
  readonly softBounceDays: number;
  /** False: the installation's. */
  readonly isOwn: boolean;
}

export const bouncePolicyInput = z.object({
  softBounceLimit: z.int().min(0).max(SOFT_BOUNCE_LIMIT_MAX).nullable().optional(),
  softBounceDays: z.int().min(1).max(SOFT_BOUNCE_DAYS_MAX).nullable().optional(),
});

export type BouncePolicyInput = z.input<typeof bouncePolicyInput>;

/** The policy of the caller's customer. */
export async function bouncePolicyOfCustomer(ctx: Context): Promise<BouncePolicy> {
  return policyOf(ctx, viewerOf(ctx).customerId);
}

/** The policy for a customer: its own, else the installation's. */
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

/** Changes the given values; null resets to the installation's. Throws ValidationError. */
export async function updateBouncePolicy(ctx: Context, input: BouncePolicyInput): Promise<BouncePolicy> {
  const { customerId } = viewerOf(ctx);
  const wanted = parseInput(bouncePolicyInput, input);
  await writeBouncePolicy(ctx.db, customerId, wanted);
  return policyOf(ctx, customerId);
}
