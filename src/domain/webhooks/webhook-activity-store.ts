/** Takes what webhooks of customers ask for (prisma/functions/note_*_for_webhooks.sql), with what is needed to report it. */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';

/** Notified when there is some. */
export const WEBHOOK_ACTIVITY_CHANNEL = 'webhook_activity';

const ACTIVITY_ROW = row({
  customerId: 'bigint',
  sequence: 'bigint',
  event: 'text',
  at: 'timestamptz',
  personId: 'bigint',
  /** Null: the person is gone. */
  email: 'text?',
  /** Of events that report them. */
  fields: typed<Readonly<Record<string, unknown>> | null>('json?'),
  data: typed<Readonly<Record<string, unknown>> | null>('json?'),
  listId: 'bigint?',
  listUid: 'text?',
  /** Of a mail. */
  campaignId: 'bigint?',
  campaignUid: 'text?',
  templateId: 'bigint?',
  templateUid: 'text?',
  url: 'text?',
  isMachine: 'bool',
  /** The open, the click, the unsubscribe was not erased, and not taken back. */
  isThere: 'bool',
});
export type WebhookActivity = RowOf<typeof ACTIVITY_ROW>;

const KEY_ROW = row({ customerId: 'bigint', sequence: 'bigint' });
export type ActivityKey = RowOf<typeof KEY_ROW>;

/**
 * Chooses the first that is due of each customer, of each as many, so that nobody waits behind another customer's flood. They are locked
 * until the transaction ends.
 */
export async function chooseActivity(tx: Queryable, max: number): Promise<readonly ActivityKey[]> {
  return tx.query(
    KEY_ROW,
    sql`WITH RECURSIVE customers(id) AS (
          (SELECT customer_id FROM hot.webhook_activity ORDER BY customer_id LIMIT 1)
          UNION ALL
          SELECT n.customer_id FROM customers c
           CROSS JOIN LATERAL (SELECT q.customer_id FROM hot.webhook_activity q WHERE q.customer_id > c.id ORDER BY q.customer_id LIMIT 1) n
        ), turns AS (
          SELECT c.id, greatest(1, ${max}::int / count(*) OVER ()) AS share FROM customers c
           WHERE EXISTS (SELECT 1 FROM hot.webhook_activity q WHERE q.customer_id = c.id AND q.due_at <= now())
           ORDER BY random() LIMIT ${max}::int
        )
        SELECT d.customer_id AS "customerId", d.id AS sequence FROM turns t
         CROSS JOIN LATERAL (
           SELECT q.customer_id, q.id FROM hot.webhook_activity q
            WHERE q.customer_id = t.id AND q.due_at <= now() ORDER BY q.due_at, q.id LIMIT t.share FOR UPDATE SKIP LOCKED) d`,
    'webhooks.choose_activity',
  );
}

/**
 * Takes these out of the table, in their order: they are there again if the transaction does not commit. Whatever the statistics say, each
 * is joined by keys.
 */
export async function takeActivity(tx: Queryable, keys: readonly ActivityKey[]): Promise<readonly WebhookActivity[]> {
  const customers = keys.map(({ customerId }) => customerId);
  const sequences = keys.map(({ sequence }) => sequence);
  return tx.query(
    ACTIVITY_ROW,
    sql`WITH taken AS (
          DELETE FROM hot.webhook_activity a USING unnest(${customers}::bigint[], ${sequences}::bigint[]) AS k(customer_id, id)
           WHERE a.customer_id = ANY (${[...new Set(customers)]}::bigint[]) AND a.id = ANY (${sequences}::bigint[])
             AND a.customer_id = k.customer_id AND a.id = k.id RETURNING a.*
        )
        SELECT a.customer_id AS "customerId", a.id AS sequence, a.event, a.at, a.person_id AS "personId", p.email, p.fields, a.data,
               coalesce(a.list_id, c.list_id, m.list_id) AS "listId", l.uid AS "listUid", c.id AS "campaignId", c.uid AS "campaignUid",
               t.id AS "templateId", t.uid AS "templateUid", e.url, coalesce(e.is_machine, false) AS "isMachine",
               a.source_kind IS NULL OR e.at IS NOT NULL AS "isThere"
          FROM taken a
          LEFT JOIN campaign c ON a.source_kind = 1 AND c.customer_id = a.customer_id AND c.id = a.source_id
          LEFT JOIN hot.message m ON a.source_kind <> 1 AND m.customer_id = a.customer_id AND m.id = a.occurrence
          LEFT JOIN mail_list l ON l.customer_id = a.customer_id AND l.id = coalesce(a.list_id, c.list_id, m.list_id)
          LEFT JOIN LATERAL (
            (SELECT s.email, CASE WHEN a.event IN ('subscriber.added', 'subscriber.confirmed', 'subscriber.changed') THEN s.fields END AS fields FROM subscriber s
              WHERE s.customer_id = a.customer_id AND s.list_id = coalesce(a.list_id, c.list_id, m.list_id) AND s.id BETWEEN a.person_id AND a.person_id
              ORDER BY s.id LIMIT 1)
            UNION ALL
            SELECT r.email, NULL FROM hot.message_recipient r
             WHERE m.list_id IS NULL AND r.customer_id = a.customer_id AND r.id = m.recipient_id) p ON true
          LEFT JOIN LATERAL (
            SELECT t.id, t.uid FROM template t WHERE a.source_kind = 3 AND t.customer_id = a.customer_id AND t.id = a.source_id
            UNION ALL
            SELECT t.id, t.uid FROM template t WHERE a.source_kind = 2 AND t.customer_id = a.customer_id AND t.uid = m.content ->> 'templateUid') t ON true
          LEFT JOIN LATERAL (
            -- An open that is known by a click only did not load the pixel.
            SELECT o.at, NULL AS url, o.is_machine FROM hot.open_event o
             WHERE a.event = 'open' AND o.customer_id = a.customer_id AND o.source_kind = a.source_kind AND o.source_id = a.source_id AND o.at = a.at AND o.id = a.event_id AND NOT o.by_click
            UNION ALL
            SELECT k.at, k.url, k.is_machine FROM hot.click_event k
             WHERE a.event = 'click' AND k.customer_id = a.customer_id AND k.source_kind = a.source_kind AND k.source_id = a.source_id AND k.at = a.at AND k.id = a.event_id
            UNION ALL
            SELECT u.at, NULL, false FROM hot.unsubscribe_event u
             WHERE a.event = 'unsubscribe' AND u.customer_id = a.customer_id AND u.source_kind = a.source_kind AND u.source_id = a.source_id AND u.at = a.at AND u.id = a.event_id) e ON true
         ORDER BY a.id`,
    'webhooks.take_activity',
  );
}

/** With 2, 4, 8 … seconds in between. */
const TRIES_MAX = 5;

/** Of one that cannot be reported: it is due again later, and after five tries it is kept aside. True: now. */
export async function putOffActivity(
  db: Queryable,
  { customerId, sequence }: ActivityKey,
  reason: string,
): Promise<boolean> {
  const [put] = await db.query(
    { isAside: 'bool' },
    sql`UPDATE hot.webhook_activity
           SET tries = tries + 1, fault = ${reason}, due_at = CASE WHEN tries + 1 < ${TRIES_MAX}::int THEN now() + make_interval(secs => 2 ^ (tries + 1)) ELSE 'infinity' END
         WHERE customer_id = ${customerId} AND id = ${sequence} RETURNING due_at = 'infinity' AS "isAside"`,
    'webhooks.put_off_activity',
  );
  return put?.isAside ?? false;
}

/** As long as what waits for a paused webhook is kept at least. */
const ASIDE_DAYS = 7;

/** Erases what was kept aside for a week. */
export function eraseAsideActivity(db: Queryable): Promise<number> {
  return db.execute(
    sql`DELETE FROM hot.webhook_activity WHERE due_at = 'infinity' AND at < now() - make_interval(days => ${ASIDE_DAYS}::int)`,
  );
}
