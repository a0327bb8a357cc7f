/** Which vendors' lists of subscriptions are due, and what stands in them that belongs to nothing here. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { ReadRemote } from './remote-answers.ts';

/** An account that is used for other things as well has many; more are not looked through by hand. */
export const UNKNOWN_MAX = 1_000;

/** Takes the gateways whose list is due, for this process alone, until then: those with linked plans, or with payments that began subscriptions. */
export async function takeDueWalks(
  db: Queryable,
  { at, until }: { readonly at: Date; readonly until: Date },
): Promise<bigint[]> {
  const taken = await db.query(
    { id: 'bigint' },
    sql`
    UPDATE payment_gateway g SET next_walk_at = ${until}
     WHERE (g.next_walk_at IS NULL OR g.next_walk_at <= ${at})
       AND (EXISTS (SELECT 1 FROM remote_plan_link l WHERE l.gateway_id = g.id)
            OR EXISTS (SELECT 1 FROM payment_intent p WHERE p.gateway_id = g.id AND p.remote_plan_id IS NOT NULL))
    RETURNING g.id`,
  );
  return taken.map(({ id }) => id);
}

/** The walk goes on: no other process begins one before then. */
export async function keepWalk(db: Queryable, gatewayId: bigint, until: Date): Promise<void> {
  await db.execute(sql`UPDATE payment_gateway SET next_walk_at = ${until} WHERE id = ${gatewayId}`);
}

/**
 * The walk has ended. The next one begins at `soon` while a payment of the last day may have begun a subscription that is not known yet, else at
 * `later`. A payment that was declined has begun none.
 */
export async function endWalk(
  db: Queryable,
  gatewayId: bigint,
  {
    error,
    at,
    soon,
    later,
  }: { readonly error: string | null; readonly at: Date; readonly soon: Date; readonly later: Date },
): Promise<void> {
  await db.execute(sql`
    UPDATE payment_gateway g
       SET walk_error = ${error},
           next_walk_at = CASE WHEN EXISTS (
             SELECT 1 FROM payment_intent p
              WHERE p.gateway_id = g.id AND p.remote_plan_id IS NOT NULL AND p.created_at > ${at}::timestamptz - interval '1 day'
                AND (p.status = 'SUCCEEDED' OR (p.charged_at IS NOT NULL AND p.status <> 'FAILED'))
                AND NOT EXISTS (SELECT 1 FROM remote_subscription r WHERE r.customer_id = p.customer_id AND r.intent_uid = p.uid))
           THEN ${soon}::timestamptz ELSE ${later}::timestamptz END
     WHERE g.id = ${gatewayId}`);
}

/** Keeps those of the last whole walk. */
export async function writeUnknown(
  db: Queryable,
  {
    gatewayId,
    unknown,
    at,
  }: { readonly gatewayId: bigint; readonly unknown: readonly ReadRemote[]; readonly at: Date },
): Promise<void> {
  const kept = unknown.slice(0, UNKNOWN_MAX);
  await db.execute(sql`
    INSERT INTO unknown_remote_subscription AS u (gateway_id, remote_id, intent_uid, status, first_seen_at, seen_at)
    SELECT ${gatewayId}, t.remote_id, t.intent_uid, t.status, ${at}::timestamptz, ${at}::timestamptz
      FROM unnest(${kept.map(({ id }) => id)}::text[], ${kept.map(({ intentUid }) => intentUid)}::text[],
                  ${kept.map(({ status }) => status)}::text[]) AS t (remote_id, intent_uid, status)
    ON CONFLICT (gateway_id, remote_id) DO UPDATE
       SET intent_uid = EXCLUDED.intent_uid, status = EXCLUDED.status, seen_at = EXCLUDED.seen_at`);
  await db.execute(sql`DELETE FROM unknown_remote_subscription WHERE gateway_id = ${gatewayId} AND seen_at < ${at}`);
}
