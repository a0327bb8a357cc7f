/** The log of a webhook: deliveries, and the attempts of each with request and answer (decision D43). */
import { row, sql, typed, type Queryable, type RowOf, type Sql } from '../../db/database.ts';
import type { AttemptRequest, DeliveryState } from './delivery-store.ts';
import type { WebhookKey } from './webhook.ts';

const DELIVERY_ROW = row({
  id: 'bigint',
  uid: 'text',
  event: 'text',
  state: typed<DeliveryState>('text'),
  attempts: 'smallint',
  isTest: 'bool',
  body: 'text',
  createdAt: 'timestamptz',
  nextAttemptAt: 'timestamptz?',
  finishedAt: 'timestamptz?',
});

const ATTEMPT_ROW = row({
  deliveryId: 'bigint',
  attempt: 'smallint',
  at: 'timestamptz',
  request: typed<AttemptRequest>('json'),
  status: 'int?',
  durationMs: 'int',
  answer: 'text?',
  error: 'text?',
  nextAttemptAt: 'timestamptz?',
});
export type LoggedAttempt = RowOf<typeof ATTEMPT_ROW>;
export interface LoggedDelivery extends RowOf<typeof DELIVERY_ROW> {
  /** The latest ones, the first of them first. */
  readonly log: readonly LoggedAttempt[];
}

export interface DeliveryQuestion {
  readonly webhook: WebhookKey;
  readonly uid: string | null;
  readonly state: DeliveryState | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

/** Of one delivery: as many as a webhook tries, and some by hand. */
export const ATTEMPTS_SHOWN_MAX = 60;

/** A page of the log, the newest first, with the attempts. */
export async function loggedDeliveries(
  db: Queryable,
  question: DeliveryQuestion,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<LoggedDelivery[]> {
  const deliveries = await db.query(
    DELIVERY_ROW,
    sql`SELECT d.id, d.uid, d.event, d.state, d.attempts, d.is_test AS "isTest", convert_from(coalesce(d.body, d.payload), 'UTF8') AS body,
               d.created_at AS "createdAt", d.next_attempt_at AS "nextAttemptAt", d.finished_at AS "finishedAt"
          FROM hot.webhook_delivery d WHERE ${asked(question)} ORDER BY d.id DESC OFFSET ${offset} LIMIT ${limit}`,
  );
  const attempts = await attemptsOf(
    db,
    question.webhook,
    deliveries.map(({ id }) => id),
  );
  const byDelivery = Map.groupBy(attempts, ({ deliveryId }) => deliveryId);
  return deliveries.map((delivery) => ({ ...delivery, log: byDelivery.get(delivery.id) ?? [] }));
}

/** How many they are, counted up to `max`. */
export async function countLoggedDeliveries(db: Queryable, question: DeliveryQuestion, max: number): Promise<number> {
  const [row] = await db.query(
    { total: 'int' },
    sql`SELECT count(*)::int AS total FROM (SELECT 1 FROM hot.webhook_delivery d WHERE ${asked(question)} LIMIT ${max}) counted`,
  );
  return row?.total ?? 0;
}

function attemptsOf(db: Queryable, { customerId, id }: WebhookKey, ids: readonly bigint[]): Promise<LoggedAttempt[]> {
  return db.query(
    ATTEMPT_ROW,
    sql`SELECT a.delivery_id AS "deliveryId", a.attempt, a.at, a.request, a.status, a.duration_ms AS "durationMs", a.answer, a.error,
               a.next_attempt_at AS "nextAttemptAt"
          FROM unnest(${[...ids]}::bigint[]) AS i(id)
         CROSS JOIN LATERAL (SELECT * FROM hot.webhook_attempt t
                              WHERE t.customer_id = ${customerId} AND t.webhook_id = ${id} AND t.delivery_id = i.id
                              ORDER BY t.attempt DESC LIMIT ${ATTEMPTS_SHOWN_MAX}) a
         ORDER BY a.delivery_id, a.attempt`,
  );
}

function asked({ webhook: { customerId, id }, uid, state, from, to }: DeliveryQuestion): Sql {
  return sql`d.customer_id = ${customerId} AND d.webhook_id = ${id} AND (${uid}::text IS NULL OR d.uid = ${uid}::text)
    AND (${state}::text IS NULL OR d.state = ${state}::text)
    AND (${from}::timestamptz IS NULL OR d.created_at >= ${from}::timestamptz) AND (${to}::timestamptz IS NULL OR d.created_at < ${to}::timestamptz)`;
}
