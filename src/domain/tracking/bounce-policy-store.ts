/** Statements of bounce policies, and the soft bounces that they count. */
import { sql, type Queryable } from '../../db/database.ts';
import { SOFT_BOUNCE_DAYS_MAX, SOFT_BOUNCE_LIMIT_MAX } from '../limits.ts';

/** Undefined leaves alone. */
interface GivenPolicy {
  readonly softBounceLimit?: number | null | undefined;
  readonly softBounceDays?: number | null | undefined;
}

/** The customer's own values. */
export async function ownBouncePolicy(
  db: Queryable,
  customerId: bigint,
): Promise<{ limit: number | null; days: number | null } | undefined> {
  const [own] = await db.query(
    { limit: 'int?', days: 'int?' },
    sql`SELECT soft_bounce_limit AS "limit", soft_bounce_days AS days FROM bounce_policy WHERE customer_id = ${customerId}`,
    'tracking.bounce_policy',
  );
  return own;
}

/** Writes the given values; null: the installation's value applies. */
export async function writeBouncePolicy(
  db: Queryable,
  customerId: bigint,
  { softBounceLimit, softBounceDays }: GivenPolicy,
): Promise<void> {
  await db.execute(sql`
    INSERT INTO bounce_policy AS p (customer_id, soft_bounce_limit, soft_bounce_days)
    VALUES (${customerId}, ${softBounceLimit ?? null}, ${softBounceDays ?? null})
    ON CONFLICT (customer_id) DO UPDATE SET updated_at = now(),
      soft_bounce_limit = CASE WHEN ${softBounceLimit === undefined} THEN p.soft_bounce_limit ELSE excluded.soft_bounce_limit END,
      soft_bounce_days = CASE WHEN ${softBounceDays === undefined} THEN p.soft_bounce_days ELSE excluded.soft_bounce_days END`);
}

/** Counts soft bounces: one row per address, locked while it is counted, so that no two count the same. */
export async function noteSoftBounce(
  db: Queryable,
  { customerId, emailKey }: { customerId: bigint; emailKey: string },
  { softBounceLimit, softBounceDays }: { softBounceLimit: number; softBounceDays: number },
): Promise<'suppress' | 'wait'> {
  if (softBounceLimit === 0) return 'wait';
  const [row] = await db.query(
    { count: 'int' },
    sql`INSERT INTO hot.soft_bounce AS b (customer_id, email_key, times) VALUES (${customerId}, ${emailKey}, ARRAY[now()])
        ON CONFLICT (customer_id, email_key) DO UPDATE SET times = ARRAY(
          SELECT t FROM unnest(b.times || excluded.times) AS t WHERE t > now() - make_interval(days => ${softBounceDays})
           ORDER BY t DESC LIMIT ${SOFT_BOUNCE_LIMIT_MAX})
        RETURNING cardinality(times) AS count`,
    'tracking.soft_bounce',
  );
  if ((row?.count ?? 0) < softBounceLimit) return 'wait';
  await deleteSoftBounces(db, { customerId, emailKey });
  return 'suppress';
}

/** After an accepted message the count of a mailbox starts again. */
export async function deleteSoftBounces(
  db: Queryable,
  { customerId, emailKey }: { customerId: bigint; emailKey: string },
): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.soft_bounce WHERE customer_id = ${customerId} AND email_key = ${emailKey}`,
    'tracking.forget_soft_bounces',
  );
}

/** The same for many mailboxes. In one order, so that two of these do not wait for each other. */
export async function deleteSoftBouncesOf(
  db: Queryable,
  people: readonly { readonly customerId: bigint; readonly emailKey: string }[],
): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.soft_bounce WHERE (customer_id, email_key) IN (
          SELECT b.customer_id, b.email_key FROM hot.soft_bounce b
            JOIN unnest(${people.map(({ customerId }) => customerId)}::bigint[], ${people.map(({ emailKey }) => emailKey)}::text[]) AS p (customer_id, email_key)
              ON p.customer_id = b.customer_id AND p.email_key = b.email_key
           ORDER BY b.customer_id, b.email_key FOR UPDATE OF b)`,
    'tracking.forget_soft_bounces_of',
  );
}

/** Deletes counts that are too old for any policy. */
export async function dropOldSoftBounces(db: Queryable): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.soft_bounce WHERE times[1] < now() - make_interval(days => ${SOFT_BOUNCE_DAYS_MAX})`,
  );
}
