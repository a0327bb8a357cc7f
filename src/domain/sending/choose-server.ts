/**
 * Through which server a customer sends now, and which own ones its plan lets it have (decisions D29, D46): an own
 * one if it has one and its plan says `own`, else a system server that its plan gives. One statement says it for the
 * driver pool, for campaigns that want to start and for servers that somebody wants to delete.
 */
import { sql, type Queryable, type Sql } from '../../db/database.ts';
import { ValidationError } from '../../lib/errors.ts';
import { notIncluded, subscriptionEnded } from '../billing/allowance-errors.ts';
import { allowanceOf } from '../billing/allowance.ts';

/**
 * Selects `columns` of the server `s`, or no row. Own servers come before the system's, real ones before the
 * development inbox, the one that the plan names before the others, older before newer. For the house and for
 * customers who never had a plan `o.options` is null: everything is theirs.
 */
export function chosenServer(columns: Sql, customerId: Sql): Sql {
  return sql`
    SELECT ${columns}
      FROM sending_server s
      LEFT JOIN LATERAL (
        SELECT p.options || u.options AS options
          FROM subscription u
          JOIN plan p ON p.id = u.plan_id
          JOIN customer payer ON payer.id = u.customer_id AND NOT payer.is_house
         -- The one that allowanceOf goes by: one that ended before it was paid for never began.
         WHERE u.customer_id = ${customerId} AND u.status <> 'pending'
           AND (u.status <> 'ended' OR u.current_period_started_at IS NOT NULL)
         ORDER BY (u.status = 'ended'), u.id DESC LIMIT 1) o ON true
     WHERE s.status = 'active'
       AND ((s.customer_id = ${customerId} AND (o.options IS NULL OR ${mayUseOwn}))
         OR (s.is_system AND (o.options IS NULL OR ${isGiven})))
     ORDER BY s.is_development, (s.customer_id = ${customerId}) DESC,
              coalesce(s.uid = o.options ->> 'sending_server_subaccount_uid', false) DESC, s.id
     LIMIT 1`;
}

const mayUseOwn = sql`o.options ->> 'sending_server_option' = 'own'
  AND (o.options ->> 'all_sending_server_types' = 'yes' OR o.options -> 'sending_server_types' ->> s.type = 'yes')`;
/** A plan that does not give all of them gives the one it names. */
const isGiven = sql`coalesce(o.options ->> 'all_sending_servers', 'yes') = 'yes'
  OR s.uid = o.options ->> 'sending_server_subaccount_uid'`;

/** Whether there is any server that the customer may send through now. */
export async function hasServerToSendThrough(db: Queryable, customerId: bigint): Promise<boolean> {
  return (await db.query(chosenServer(sql`1`, sql`${customerId}::bigint`))).length > 0;
}

/**
 * Whether the customer may have an own server of this type. Throws ForbiddenError `PLAN_DOES_NOT_INCLUDE`,
 * WrongStateError `SUBSCRIPTION_ENDED`, ValidationError `PLAN_LIMIT_REACHED` on `type`.
 */
export async function requireOwnServers(db: Queryable, customerId: bigint, type: string): Promise<void> {
  const { source, options } = await allowanceOf(db, customerId);
  if (options.sending_server_option !== 'own') throw notIncluded('own sending servers');
  if (source === 'ended') throw subscriptionEnded();
  if (options.all_sending_server_types === 'yes' || options.sending_server_types[type] === 'yes') return;
  const types = Object.entries(options.sending_server_types).flatMap(([name, allowed]) =>
    allowed === 'yes' ? [name] : [],
  );
  const message = `The plan allows own sending servers of these types only: ${types.join(', ') || 'none'}.`;
  throw new ValidationError({ type: [message] }, 'PLAN_LIMIT_REACHED');
}
