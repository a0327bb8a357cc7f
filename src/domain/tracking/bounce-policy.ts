/**
 * The noun: how patient a customer is with mailboxes that do not take its mail. A hard bounce suppresses at once and a
 * complaint suppresses and unsubscribes, whatever anybody sets: both are promises to the world, not preferences. What
 * may be set is how many soft bounces, within how many days, are as good as a hard one.
 */
import { z } from 'zod';
import { sql, type Queryable } from '../../db/database.ts';
import { parseInput } from '../../lib/text.ts';
import { viewerOf, type Context } from '../context.ts';
import { SOFT_BOUNCE_DAYS_MAX, SOFT_BOUNCE_LIMIT_MAX } from '../limits.ts';

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
  const [own] = await db.query<{ limit: number | null; days: number | null }>(
    sql`SELECT soft_bounce_limit AS "limit", soft_bounce_days AS days FROM bounce_policy WHERE customer_id = ${customerId}`,
    'tracking.bounce_policy',
  );
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
  await ctx.db.execute(writePolicy(customerId, wanted));
  return policyOf(ctx, customerId);
}

function writePolicy(customerId: bigint, { softBounceLimit, softBounceDays }: z.output<typeof policyInput>) {
  return sql`
    INSERT INTO bounce_policy AS p (customer_id, soft_bounce_limit, soft_bounce_days)
    VALUES (${customerId}, ${softBounceLimit ?? null}, ${softBounceDays ?? null})
    ON CONFLICT (customer_id) DO UPDATE SET updated_at = now(),
      soft_bounce_limit = CASE WHEN ${softBounceLimit === undefined} THEN p.soft_bounce_limit ELSE excluded.soft_bounce_limit END,
      soft_bounce_days = CASE WHEN ${softBounceDays === undefined} THEN p.soft_bounce_days ELSE excluded.soft_bounce_days END`;
}

/** What counts soft bounces: one row an address, locked while it is counted, so that no two of them count the same. */
export async function noteSoftBounce(
  db: Queryable,
  { customerId, emailKey }: { customerId: bigint; emailKey: string },
  { softBounceLimit, softBounceDays }: BouncePolicy,
): Promise<'suppress' | 'wait'> {
  if (softBounceLimit === 0) return 'wait';
  const [row] = await db.query<{ count: number }>(
    sql`INSERT INTO hot.soft_bounce AS b (customer_id, email_key, times) VALUES (${customerId}, ${emailKey}, ARRAY[now()])
        ON CONFLICT (customer_id, email_key) DO UPDATE SET times = ARRAY(
          SELECT t FROM unnest(b.times || excluded.times) AS t WHERE t > now() - make_interval(days => ${softBounceDays})
           ORDER BY t DESC LIMIT ${SOFT_BOUNCE_LIMIT_MAX})
        RETURNING cardinality(times) AS count`,
    'tracking.soft_bounce',
  );
  if ((row?.count ?? 0) < softBounceLimit) return 'wait';
  await forgetSoftBounces(db, { customerId, emailKey });
  return 'suppress';
}

/** A mailbox that took a message begins anew. */
export async function forgetSoftBounces(
  db: Queryable,
  { customerId, emailKey }: { customerId: bigint; emailKey: string },
): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.soft_bounce WHERE customer_id = ${customerId} AND email_key = ${emailKey}`,
    'tracking.forget_soft_bounces',
  );
}

/** Drops counts that no policy looks back to. */
export async function dropOldSoftBounces(db: Queryable): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.soft_bounce WHERE times[1] < now() - make_interval(days => ${SOFT_BOUNCE_DAYS_MAX})`,
  );
}
