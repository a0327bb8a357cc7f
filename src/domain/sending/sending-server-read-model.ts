/**
 * Reads of sending servers. The main one: through which of them a customer sends now (decisions D29, D46): an own
 * one if it has one and its plan says `own`, else a system server that its plan gives. Where several are chosen by
 * weight (for a campaign, by the customer, by the plan), those of them that it may use. One statement says it for the
 * driver pool, for campaigns that want to start and for servers that somebody wants to delete.
 */
import { empty, row, sql, type Queryable, type RowOf, type Sql } from '../../db/database.ts';
import { onlyInForce } from '../billing/subscriptions/subscription-read-model.ts';
import { CONNECTIONS_NOW, SENDING_PROCESSES } from './routing/connections-store.ts';

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
function permittedAmong(customerId: Sql, uids: readonly string[]): Sql {
  return sql`SELECT s.uid FROM sending_server s ${planOf(customerId)}
              WHERE s.uid = ANY (${[...uids]}::text[]) AND ${isPermitted(customerId)}`;
}

function planOf(customerId: Sql): Sql {
  return sql`
    LEFT JOIN LATERAL (
      SELECT p.options || u.options AS options, p.sending_servers AS plan_routes
        FROM subscription u
        JOIN plan p ON p.id = u.plan_id
        JOIN customer payer ON payer.id = u.customer_id AND NOT payer.is_operator
       WHERE u.customer_id = ${customerId} ${onlyInForce(sql`u`)}) o ON true`;
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

const ROUTED_SERVER = row({
  id: 'bigint',
  uid: 'text',
  name: 'text',
  type: 'text',
  settings: 'json',
  sealed_settings: 'bytea?',
  is_system: 'bool',
  connections_max: 'int',
  quota_value: 'int?',
  quota_base: 'int?',
  quota_unit: 'text?',
  domain_limits: 'json',
  warm_up: 'json?',
  warm_up_started_at: 'timestamptz?',
  warm_up_stopped_at: 'timestamptz?',
  sends_per_hour: 'int?',
  version: 'text',
  processes: 'int',
  knownMs: 'float8?',
  connections: 'int',
  weight: 'int?',
  place: 'int',
  restSeconds: 'float8',
  isTried: 'bool',
  isFull: 'bool',
});
export type RoutedServer = RowOf<typeof ROUTED_SERVER>;

const ROUTED_COLUMNS = sql`s.id, s.uid, s.name, s.type, s.settings, s.sealed_settings, s.is_system, s.connections_max,
  s.quota_value, s.quota_base, s.quota_unit, s.domain_limits, s.warm_up, s.warm_up_started_at, s.warm_up_stopped_at,
  s.updated_at::text AS version,
  ${SENDING_PROCESSES}, ${CONNECTIONS_NOW} AS connections,
  coalesce(greatest(0, extract(epoch FROM h.open_until - clock_timestamp())), 0)::float8 AS "restSeconds",
  coalesce(h.state = 'half-open' AND h.prober_until > clock_timestamp(), false) AS "isTried",
  s.warm_up IS NOT NULL AND (s.warm_up_stopped_at IS NOT NULL OR coalesce(d.taken >= hot.warm_up_limit(s.warm_up, d.day), false)) AS "isFull"`;
/** The server's health, its connections, and the rest of its warm-up day. */
const ROUTED_JOINS = sql`
  LEFT JOIN hot.sending_health h ON h.server_id = s.id AND h.mailbox_group = ''
  LEFT JOIN hot.sending_connections c ON c.server_id = s.id
  LEFT JOIN hot.warm_up_day d ON s.warm_up IS NOT NULL AND d.server_id = s.id AND d.day = hot.warm_up_day_no(s.warm_up_started_at)`;

/** The servers that may carry a customer's mail, and how they stand; campaign null: the mail is no campaign's. */
export function serversFor(db: Queryable, customerId: bigint, campaignId: bigint | null): Promise<RoutedServer[]> {
  const columns = sql`${ROUTED_COLUMNS}, (SELECT w.sends_per_hour FROM customer w WHERE w.id = ${customerId}::bigint) AS sends_per_hour`;
  return db.query(
    ROUTED_SERVER,
    routedServers(columns, routeQuestion(customerId, campaignId), ROUTED_JOINS),
    'sending.choose-server',
  );
}

const STATE_COLUMNS = sql`s.name, s.quota_value, s.quota_base, s.quota_unit,
  coalesce(h.state <> 'closed' OR h.open_until > now(), false) AS "isResting",
  CASE WHEN h.state <> 'closed' THEN h.opened_at END AS "restsSince",
  CASE WHEN h.open_until > now() THEN h.open_until END AS "restsUntil", h.last_error AS error,
  s.warm_up IS NOT NULL AND s.warm_up_stopped_at IS NOT NULL AS "isStopped", hot.warm_up_limit(s.warm_up, d.day) AS "dayLimit",
  CASE WHEN d.taken >= hot.warm_up_limit(s.warm_up, d.day) THEN s.warm_up_started_at + make_interval(secs => 86400 * d.day) END AS "dayEndsAt",
  b.tokens, b.refilled_at AS "refilledAt",
  w.sends_per_hour AS "sendsPerHour", wb.tokens AS "customerTokens", wb.refilled_at AS "customerRefilledAt"`;
const STATE_JOINS = sql`
  JOIN customer w ON w.id = k.customer_id
  LEFT JOIN hot.rate_bucket wb ON wb.key = 'customer:' || w.id
  LEFT JOIN hot.sending_health h ON h.server_id = s.id AND h.mailbox_group = ''
  LEFT JOIN hot.warm_up_day d ON s.warm_up IS NOT NULL AND d.server_id = s.id AND d.day = hot.warm_up_day_no(s.warm_up_started_at)
  LEFT JOIN hot.rate_bucket b ON b.key = 'server:' || s.id`;
/** The question for each campaign `k`. */
const QUESTION = {
  customerId: sql`k.customer_id`,
  campaignRoutes: sql`(SELECT g.sending_servers FROM campaign g WHERE g.customer_id = k.customer_id AND g.id = k.campaign_id)`,
};

const SERVER_STATE = row({
  name: 'text',
  weight: 'int?',
  isResting: 'bool',
  restsSince: 'timestamptz?',
  /** Null: it is being tried. */
  restsUntil: 'timestamptz?',
  error: 'text?',
  isStopped: 'bool',
  dayLimit: 'int?',
  dayEndsAt: 'timestamptz?',
  sendsPerHour: 'int?',
  customerTokens: 'float8?',
  customerRefilledAt: 'timestamptz?',
  quota_value: 'int?',
  quota_base: 'int?',
  quota_unit: 'text?',
  /** What its bucket held when it was last looked at. */
  tokens: 'float8?',
  refilledAt: 'timestamptz?',
  no: 'int',
  place: 'int',
});
export type ServerState = RowOf<typeof SERVER_STATE>;

/** How the servers stand that each campaign's next batch may go through; `no` counts the campaigns from 1. */
export function serverStates(
  db: Queryable,
  keys: readonly { customerId: bigint; campaignId: bigint }[],
): Promise<ServerState[]> {
  return db.query(
    SERVER_STATE,
    sql`SELECT k.no::int AS no, t.*
          FROM unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ campaignId }) => campaignId)}::bigint[])
               WITH ORDINALITY AS k (customer_id, campaign_id, no)
         CROSS JOIN LATERAL (${routedServers(STATE_COLUMNS, QUESTION, STATE_JOINS)}) t
         ORDER BY k.no, t.place`,
    'sending.server-waits',
  );
}

/** Those of the servers that the customer may name in a choice by weight. */
export async function nameableServers(
  db: Queryable,
  customerId: bigint,
  uids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.query({ uid: 'text' }, permittedAmong(sql`${customerId}::bigint`, uids));
  return new Set(rows.map(({ uid }) => uid));
}

/** The types of the active servers that may carry the customer's mail, whatever is chosen; without the development inbox. */
export async function typesOfServersFor(db: Queryable, customerId: bigint): Promise<string[]> {
  const customer = sql`${customerId}::bigint`;
  const rows = await db.query(
    { type: 'text' },
    sql`SELECT DISTINCT s.type FROM sending_server s ${planOf(customer)}
         WHERE s.status = 'active' AND NOT s.is_development AND ${isPermitted(customer)}`,
    'sending.types-of-servers',
  );
  return rows.map(({ type }) => type);
}

/** Those of the servers whose vendors have reported something; what is older than a month is forgotten. */
export async function reportedServers(db: Queryable, serverIds: readonly bigint[]): Promise<ReadonlySet<bigint>> {
  const rows = await db.query(
    { id: 'bigint' },
    sql`SELECT s.id FROM sending_server s
         WHERE s.id = ANY (${[...serverIds]}::bigint[])
           AND EXISTS (SELECT 1 FROM hot.webhook_event e WHERE e.customer_id = s.customer_id AND e.server_id = s.id)`,
    'sending.reported-servers',
  );
  return new Set(rows.map(({ id }) => id));
}

/** Those of the servers that are the system's. */
export async function systemServersAmong(db: Queryable, uids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    { uid: 'text' },
    sql`SELECT uid FROM sending_server WHERE is_system AND uid = ANY (${[...uids]}::text[])`,
  );
  return new Set(rows.map(({ uid }) => uid));
}

/** Whether the customer's server is the system's; undefined: it is gone. */
export async function isSystemServer(
  db: Queryable,
  { customerId, serverId }: { customerId: bigint; serverId: bigint },
): Promise<boolean | undefined> {
  const [row] = await db.query(
    { isSystem: 'bool' },
    sql`SELECT is_system AS "isSystem" FROM sending_server WHERE customer_id = ${customerId} AND id = ${serverId}`,
  );
  return row?.isSystem;
}

/** Servers of whichever customer with this type and uid, active or not, with their settings; at most `max`. */
export function serversOfType(db: Queryable, { type, uid, max }: { type: string; uid: string; max: number }) {
  return db.query(
    { customerId: 'bigint', id: 'bigint', isSystem: 'bool', settings: 'json', sealed: 'bytea?' },
    sql`SELECT customer_id AS "customerId", id, is_system AS "isSystem", settings, sealed_settings AS sealed FROM sending_server
         WHERE uid = ${uid} AND type = ${type} ORDER BY id LIMIT ${max}`,
    'sending.webhook_servers',
  );
}
