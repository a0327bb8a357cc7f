/**
 * The servers through which a customer sends now, and whether it may have own ones (decisions D29, D46): an own one if it has one
 * and its plan says `own`, else a system server of its plan. If several are chosen by weight (for a campaign, by the customer, by
 * the plan), those of them that it may use. One statement for the driver pool, for starting campaigns and for deleting servers.
 */
import { empty, sql, type Queryable, type Sql } from '../../db/database.ts';
import { ValidationError } from '../../lib/errors.ts';
import { notIncluded, subscriptionEnded } from '../billing/allowance-errors.ts';
import { allowanceOf } from '../billing/allowance.ts';

interface RouteQuestion {
  readonly customerId: Sql;
  /** The campaign's own choice, a jsonb. It is binding: if none of them may be used, there is no server. */
  readonly campaignRoutes: Sql;
}

/**
 * Selects `columns` of the servers `s` that may carry the mail, or no row; `weight` and `place` have these names. With a choice
 * by weight these are the chosen ones. Else the one at place 1 carries everything, and those after it (of the same owner, never
 * the development inbox instead of a real one) only when it cannot. Own servers come before the system's, real ones before the
 * development inbox, the one that the plan names before the others, older before newer. For the operator's account and for
 * customers who never had a plan `o.options` is null: all servers are allowed.
 */
export function routedServers(columns: Sql, { customerId, campaignRoutes }: RouteQuestion, more: Sql = empty): Sql {
  return sql`
    WITH permitted AS MATERIALIZED (
      SELECT s.*, o.plan_routes, (row_number() OVER (ORDER BY ${orderFor(customerId)}))::int AS place,
             dense_rank() OVER (ORDER BY s.is_development, (s.customer_id = ${customerId}) DESC) AS tier
        FROM sending_server s ${planOf(customerId)}
       WHERE s.status = 'active' AND ${isPermitted(customerId)}
    ), choice AS (
      SELECT CASE
               WHEN ${campaignRoutes} IS NOT NULL THEN ${campaignRoutes}
               WHEN EXISTS (SELECT 1 FROM permitted p WHERE ${isNamed(sql`holder.sending_servers`)}) THEN holder.sending_servers
               WHEN EXISTS (SELECT 1 FROM permitted p WHERE ${isNamed(sql`p.plan_routes`)}) THEN (SELECT p.plan_routes FROM permitted p LIMIT 1)
             END AS routes
        FROM customer holder WHERE holder.id = ${customerId}
    )
    SELECT ${columns}, r.weight, s.place
      FROM permitted s CROSS JOIN choice
      LEFT JOIN LATERAL (SELECT (e ->> 'weight')::int AS weight FROM jsonb_array_elements(choice.routes) e WHERE e ->> 'uid' = s.uid LIMIT 1) r ON true
     ${more}
     WHERE CASE WHEN choice.routes IS NULL THEN s.tier = 1 ELSE r.weight IS NOT NULL END
     ORDER BY s.place`;
}

/** Ids of the servers of a campaign's mail, without those that only replace another. */
export function chosenServerIds(question: RouteQuestion): Sql {
  return sql`SELECT t.id FROM (${routedServers(sql`s.id`, question)}) t WHERE t.weight IS NOT NULL OR t.place = 1`;
}

/** The servers `s` among these uids that the customer may name in a choice, active or not. */
export function nameableServers(columns: Sql, customerId: Sql, uids: readonly string[]): Sql {
  return sql`SELECT ${columns} FROM sending_server s ${planOf(customerId)}
              WHERE s.uid = ANY (${[...uids]}::text[]) AND ${isPermitted(customerId)}`;
}

function planOf(customerId: Sql): Sql {
  return sql`
    LEFT JOIN LATERAL (
      SELECT p.options || u.options AS options, p.sending_servers AS plan_routes
        FROM subscription u
        JOIN plan p ON p.id = u.plan_id
        JOIN customer payer ON payer.id = u.customer_id AND NOT payer.is_operator
       -- The one that allowanceOf goes by: one that ended before it was paid for never began.
       WHERE u.customer_id = ${customerId} AND u.status <> 'pending'
         AND (u.status <> 'ended' OR u.current_period_started_at IS NOT NULL)
       ORDER BY (u.status = 'ended'), u.id DESC LIMIT 1) o ON true`;
}

function isPermitted(customerId: Sql): Sql {
  return sql`((s.customer_id = ${customerId} AND (o.options IS NULL OR ${mayUseOwn}))
           OR (s.is_system AND (o.options IS NULL OR ${isGiven})))`;
}

function orderFor(customerId: Sql): Sql {
  return sql`s.is_development, (s.customer_id = ${customerId}) DESC,
  coalesce(s.uid = o.options ->> 'sending_server_subaccount_uid', false) DESC, s.id`;
}

const mayUseOwn = sql`o.options ->> 'sending_server_option' = 'own'
  AND (o.options ->> 'all_sending_server_types' = 'yes' OR o.options -> 'sending_server_types' ->> s.type = 'yes')`;
/** A plan without all of them has the one it names. */
const isGiven = sql`coalesce(o.options ->> 'all_sending_servers', 'yes') = 'yes'
  OR s.uid = o.options ->> 'sending_server_subaccount_uid'`;

function isNamed(routes: Sql): Sql {
  return sql`EXISTS (SELECT 1 FROM jsonb_array_elements(${routes}) e WHERE e ->> 'uid' = p.uid)`;
}

/** Whether there is a server through which the customer, or this campaign, can be sent now. */
export async function hasServerToSendThrough(
  db: Queryable,
  customerId: bigint,
  campaignId: bigint | null = null,
): Promise<boolean> {
  return (await db.execute(routedServers(sql`1`, routeQuestion(customerId, campaignId)))) > 0;
}

/** The question for a customer's mail; null: of no campaign. */
export function routeQuestion(customerId: bigint, campaignId: bigint | null): RouteQuestion {
  return {
    customerId: sql`${customerId}::bigint`,
    campaignRoutes: sql`(SELECT g.sending_servers FROM campaign g WHERE g.customer_id = ${customerId}::bigint AND g.id = ${campaignId}::bigint)`,
  };
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
