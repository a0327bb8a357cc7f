/** Writes of deliveries: making them, taking those that are due, recording attempts. Writes of a taken one are conditional on its worker. */
import { plainArray, textArray } from '../../db/array-text.ts';
import { row, sql, type Queryable, type RowOf } from '../../db/database.ts';
import { webhookFields } from './webhook-fields.ts';
import type { WebhookKey } from './webhook.ts';

/** `parked`: its webhook is paused; `failed`: its attempts are used up. */
export type DeliveryState = 'waiting' | 'delivered' | 'failed' | 'parked';

export interface NewDelivery {
  readonly webhook: WebhookKey;
  readonly event: string;
  /** What it tells: of each webhook once. */
  readonly sourceKey: string;
  readonly personId: bigint | null;
  readonly happenedAt: Date;
  /** JSON. */
  readonly payload: string;
}

/** With one statement: it holds its locks not for long. */
export const ADDED_AT_ONCE_MAX = 5_000;
/** Characters of payloads of one statement: the fields of a person may have 400,000. */
const ADDED_LENGTH_MAX = 4 * 1024 * 1024;

/** Adds deliveries, without those that exist. Returns how many are new. */
export async function addDeliveries(db: Queryable, deliveries: readonly NewDelivery[]): Promise<number> {
  let added = 0;
  let [from, length] = [0, 0];
  for (const [no, { payload }] of deliveries.entries()) {
    if (no > from && (no - from === ADDED_AT_ONCE_MAX || length + payload.length > ADDED_LENGTH_MAX)) {
      added += await addPiece(db, deliveries.slice(from, no));
      [from, length] = [no, 0];
    }
    length += payload.length;
  }
  return deliveries.length > from ? added + (await addPiece(db, deliveries.slice(from))) : added;
}

async function addPiece(db: Queryable, deliveries: readonly NewDelivery[]): Promise<number> {
  const [answer] = await db.query(
    { added: 'int' },
    sql`SELECT hot.add_webhook_deliveries(${plainArray(deliveries, ({ webhook }) => webhook.customerId)}::bigint[],
          ${plainArray(deliveries, ({ webhook }) => webhook.id)}::bigint[], ${textArray(deliveries, ({ event }) => event)}::text[],
          ${textArray(deliveries, ({ sourceKey }) => sourceKey)}::text[], ${plainArray(deliveries, ({ personId }) => personId)}::bigint[],
          ${textArray(deliveries, ({ happenedAt }) => happenedAt.toISOString())}::timestamptz[],
          ${textArray(deliveries, ({ payload }) => payload)}::text[]) AS added`,
    'webhooks.add_deliveries',
  );
  return answer?.added ?? 0;
}

const TAKEN_DELIVERY = row({
  id: 'bigint',
  madeOn: 'date',
  customerId: 'bigint',
  webhookId: 'bigint',
  receiver: 'text',
  uid: 'text',
  event: 'text',
  personId: 'bigint?',
  payload: 'bytea',
  body: 'bytea?',
  attempts: 'smallint',
  attemptsBefore: 'smallint',
  isTest: 'bool',
  webhookUid: 'text',
  status: webhookFields.status.type,
  url: 'text',
  method: webhookFields.method.type,
  headers: webhookFields.headers.type,
  bodyTemplate: 'text?',
  sealedSecret: 'bytea',
  sealedPreviousSecret: 'bytea?',
  retryTimes: 'int',
  retryAfterSeconds: 'int',
  retrySecondsMax: 'int',
});
/** A delivery that this process has taken, with its webhook as it is now. */
export type TakenDelivery = RowOf<typeof TAKEN_DELIVERY>;

export interface Taking {
  readonly owner: string;
  readonly leaseSeconds: number;
  /** Receivers of which more or fewer than usual may be under way. */
  readonly known: readonly (readonly [receiver: string, limit: number])[];
  readonly limitOfOthers: number;
  readonly wanted: number;
  /** How many are under way of customers; those that are taken count, too. */
  readonly underWay: readonly (readonly [customerId: bigint, count: number])[];
  readonly limitOfCustomer: number;
}

/**
 * Takes due deliveries. Those of deleted webhooks are dropped. OFFSET 0 has each delivery looked up by itself: joined freely while the
 * statistics are old, all deliveries of its webhook would be read for it.
 */
export async function takeDeliveries(db: Queryable, taking: Taking): Promise<TakenDelivery[]> {
  const { owner, leaseSeconds, known, limitOfOthers, wanted, underWay, limitOfCustomer } = taking;
  const taken = await db.query(
    { id: 'bigint' },
    sql`SELECT t.id FROM hot.take_webhooks(${owner}::uuid, make_interval(secs => ${leaseSeconds}), ${known.map(([receiver]) => receiver)}::text[],
          ${known.map(([, limit]) => limit)}::int[], ${limitOfOthers}::int, ${wanted}::int, ${underWay.map(([id]) => id)}::bigint[],
          ${underWay.map(([, count]) => count)}::int[], ${limitOfCustomer}::int) AS t(id)`,
    'webhooks.take',
  );
  if (taken.length === 0) return [];
  const ids = taken.map(({ id }) => id);
  const rows = await db.query(
    TAKEN_DELIVERY,
    sql`SELECT q.delivery_id AS id, q.made_on AS "madeOn", q.customer_id AS "customerId", q.webhook_id AS "webhookId", w.receiver,
               d.uid, d.event, d.person_id AS "personId", d.payload, d.body, d.attempts, d.attempts_before AS "attemptsBefore", d.is_test AS "isTest",
               w.uid AS "webhookUid", w.status, w.url, w.method, w.headers, w.body_template AS "bodyTemplate", w.sealed_secret AS "sealedSecret",
               CASE WHEN w.previous_secret_ends_at > now() THEN w.sealed_previous_secret END AS "sealedPreviousSecret",
               w.retry_times AS "retryTimes", w.retry_after_seconds AS "retryAfterSeconds", w.retry_seconds_max AS "retrySecondsMax"
          FROM hot.webhook_queue q
          JOIN webhook w ON w.customer_id = q.customer_id AND w.id = q.webhook_id
         CROSS JOIN LATERAL (
           SELECT * FROM hot.webhook_delivery d
            WHERE d.customer_id = q.customer_id AND d.webhook_id = q.webhook_id AND d.id = q.delivery_id AND d.made_on = q.made_on OFFSET 0) d
         WHERE q.delivery_id = ANY (${ids}::bigint[]) AND q.owner = ${owner}::uuid ORDER BY q.delivery_id`,
    'webhooks.taken',
  );
  if (rows.length < ids.length) await dropOrphans(db, { owner, ids, found: rows.map(({ id }) => id) });
  return rows;
}

/** Rows whose webhook or delivery is gone. */
async function dropOrphans(
  db: Queryable,
  { owner, ids, found }: { readonly owner: string; readonly ids: readonly bigint[]; readonly found: readonly bigint[] },
): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.webhook_queue WHERE delivery_id = ANY (${[...ids]}::bigint[]) AND delivery_id <> ALL (${[...found]}::bigint[])
           AND owner = ${owner}::uuid`,
  );
}

export interface AttemptRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What one attempt brought. Without a request nothing was sent. */
export interface Attempt {
  readonly delivery: Pick<TakenDelivery, 'id' | 'personId'>;
  readonly attempt: number;
  readonly state: DeliveryState;
  /** Until the next attempt, if there is one. */
  readonly delaySeconds: number | null;
  readonly request: AttemptRequest | null;
  readonly status: number | null;
  readonly durationMs: number;
  /** The beginning of the answer's body. */
  readonly answer: string | null;
  readonly error: string | null;
  /** Made from the template for this attempt: kept, and sent again as it is. */
  readonly body: string | null;
}

/** Records attempts of `owner`, in one statement. May be repeated after a lost connection. */
export async function recordAttempts(db: Queryable, owner: string, attempts: readonly Attempt[]): Promise<void> {
  const delays = attempts.map(({ delaySeconds }) => delaySeconds);
  await db.execute(
    sql`WITH told AS (
          SELECT * FROM unnest(${attempts.map(({ delivery }) => delivery.id)}::bigint[], ${attempts.map(({ delivery }) => delivery.personId)}::bigint[],
            ${attempts.map(({ attempt }) => attempt)}::smallint[],
            ${attempts.map(({ state }) => state)}::text[], ${delays}::float8[],
            ${attempts.map(({ request }) => request && JSON.stringify(request))}::json[], ${attempts.map(({ status }) => status)}::int[],
            ${attempts.map(({ durationMs }) => durationMs)}::int[], ${textArray(attempts, ({ answer }) => answer)}::text[],
            ${textArray(attempts, ({ error }) => error)}::text[], ${textArray(attempts, ({ body }) => body)}::text[])
            AS t(id, person_id, attempt, state, delay, request, status, duration, answer, error, body)
        ), mine AS (
          SELECT t.*, q.made_on, q.customer_id, q.webhook_id, now() + make_interval(secs => t.delay) AS next_at
            FROM told t JOIN hot.webhook_queue q ON q.delivery_id = t.id
           WHERE q.owner = ${owner}::uuid ORDER BY t.id FOR UPDATE OF q
        ), logged AS (
          INSERT INTO hot.webhook_attempt (made_on, customer_id, webhook_id, delivery_id, person_id, attempt, at, request, status, duration_ms, answer, error, next_attempt_at)
          SELECT m.made_on, m.customer_id, m.webhook_id, m.id, m.person_id, m.attempt, now() - make_interval(secs => m.duration / 1000.0), m.request, m.status,
                 m.duration, m.answer, m.error, m.next_at
            FROM mine m WHERE m.request IS NOT NULL ON CONFLICT DO NOTHING
        ), ended AS (
          DELETE FROM hot.webhook_queue q USING mine m WHERE q.delivery_id = m.id AND m.state <> 'waiting'
        ), again AS (
          UPDATE hot.webhook_queue q SET owner = NULL, due_at = m.next_at FROM mine m WHERE q.delivery_id = m.id AND m.state = 'waiting'
        )
        UPDATE hot.webhook_delivery d
           SET state = m.state, attempts = m.attempt, next_attempt_at = m.next_at, body = coalesce(d.body, convert_to(m.body, 'UTF8')),
               finished_at = CASE WHEN m.state IN ('delivered', 'failed') THEN now() END
          FROM mine m
         WHERE d.customer_id = m.customer_id AND d.webhook_id = m.webhook_id AND d.id = m.id AND d.made_on = m.made_on`,
    'webhooks.record_attempts',
  );
}

/** What a worker had taken and has not sent is due at once. */
export async function returnDeliveries(db: Queryable, owner: string, ids: readonly bigint[]): Promise<void> {
  await db.execute(
    sql`UPDATE hot.webhook_queue SET owner = NULL, due_at = now() WHERE delivery_id = ANY (${[...ids]}::bigint[]) AND owner = ${owner}::uuid`,
    'webhooks.return',
  );
}

/** What dead workers had taken is due at once. */
export function freeDeliveriesOfDead(db: Queryable): Promise<number> {
  return db.execute(
    sql`UPDATE hot.webhook_queue q SET owner = NULL, due_at = now()
         WHERE q.owner IN (SELECT o.owner FROM (SELECT DISTINCT owner FROM hot.webhook_queue WHERE owner IS NOT NULL) o
                            WHERE NOT hot.is_worker_alive(o.owner))`,
    'webhooks.free_of_dead',
  );
}

/** Stores a test that is over, with its attempt. Answers its uid. */
export async function insertTest(
  db: Queryable,
  {
    webhook,
    event,
    payload,
    uid,
    attempt,
  }: Pick<NewDelivery, 'webhook' | 'event' | 'payload'> & {
    readonly uid: string;
    readonly attempt: Omit<Attempt, 'delivery'> & { readonly request: AttemptRequest };
  },
): Promise<void> {
  const { state, request, status, durationMs, answer, error, body } = attempt;
  await db.execute(
    sql`WITH made AS (
          INSERT INTO hot.webhook_delivery (made_on, customer_id, webhook_id, uid, event, source_key, payload, body, state, attempts, is_test, finished_at)
          VALUES ((now() AT TIME ZONE 'UTC')::date, ${webhook.customerId}, ${webhook.id}, ${uid}, ${event}, ${`test ${uid}`}, convert_to(${payload}, 'UTF8'),
                  convert_to(${body}::text, 'UTF8'), ${state}, 1, true, now())
          RETURNING made_on, customer_id, webhook_id, id
        )
        INSERT INTO hot.webhook_attempt (made_on, customer_id, webhook_id, delivery_id, attempt, at, request, status, duration_ms, answer, error)
        SELECT m.made_on, m.customer_id, m.webhook_id, m.id, 1, now(), ${JSON.stringify(request)}::json, ${status}::int, ${durationMs}::int, ${answer}::text,
               ${error}::text
          FROM made m`,
  );
}

export interface Resending {
  readonly webhook: WebhookKey;
  readonly states: readonly DeliveryState[];
  readonly uid: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
  /** Only those made after this one. */
  readonly after: bigint | null;
  readonly max: number;
}

const RESENT = row({ count: 'int', areMore: 'bool', lastUid: 'text?' });
/** How many are sent again, and the last of them. */
export type Resent = RowOf<typeof RESENT>;

/**
 * Sends deliveries in these states again, in the order in which they were made. Their schedule begins anew. Joined with those that are chosen,
 * each would be compared with all of its webhook while the statistics are old.
 */
export async function resendDeliveries(db: Queryable, resending: Resending): Promise<Resent> {
  const { webhook, states, uid, from, to, after, max } = resending;
  const [resent] = await db.query(
    RESENT,
    sql`WITH found AS (
          SELECT d.made_on, d.id, d.uid FROM hot.webhook_delivery d
           WHERE d.customer_id = ${webhook.customerId} AND d.webhook_id = ${webhook.id} AND NOT d.is_test AND d.state = ANY (${[...states]}::text[])
             AND (${uid}::text IS NULL OR d.uid = ${uid}::text) AND d.id > coalesce(${after}::bigint, 0)
             AND (${from}::timestamptz IS NULL OR d.created_at >= ${from}::timestamptz) AND (${to}::timestamptz IS NULL OR d.created_at < ${to}::timestamptz)
           ORDER BY d.id LIMIT ${max}::int + 1 FOR UPDATE
        ), chosen AS (
          SELECT * FROM found ORDER BY id LIMIT ${max}::int
        ), moved AS (
          UPDATE hot.webhook_delivery d SET state = 'waiting', attempts_before = d.attempts, next_attempt_at = now(), finished_at = NULL
           WHERE d.customer_id = ${webhook.customerId} AND d.webhook_id = ${webhook.id} AND d.id = ANY (ARRAY(SELECT c.id FROM chosen c))
             AND d.made_on = ANY (ARRAY(SELECT DISTINCT c.made_on FROM chosen c))
          RETURNING d.id, d.made_on
        ), notified AS (SELECT pg_notify('webhooks', '')), queued AS (
          INSERT INTO hot.webhook_queue (delivery_id, made_on, customer_id, webhook_id, receiver, due_at)
          SELECT m.id, m.made_on, w.customer_id, w.id, w.receiver, now()
            FROM moved m JOIN webhook w ON w.customer_id = ${webhook.customerId} AND w.id = ${webhook.id} CROSS JOIN notified
          ON CONFLICT (delivery_id) DO NOTHING
        )
        SELECT (SELECT count(*) FROM moved)::int AS count, (SELECT count(*) FROM found) > ${max}::int AS "areMore",
               (SELECT uid FROM chosen ORDER BY id DESC LIMIT 1) AS "lastUid"`,
  );
  return resent ?? { count: 0, areMore: false, lastUid: null };
}
