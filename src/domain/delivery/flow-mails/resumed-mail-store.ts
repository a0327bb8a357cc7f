/** Mails of a flow that were held back while it was stopped. */
import { row, sql, type Queryable, type Sql } from '../../../db/database.ts';
import { notify } from '../../../db/listen.ts';
import { dateByQueue } from '../../messages/message-store.ts';
import { PRIORITIES } from '../../messages/message.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { LEDGER } from '../messages/message-log-read-model.ts';

/** On which message senders listen. */
export const MESSAGES_CHANNEL = 'messages';

const WAITING_ROW = row({ id: 'bigint', notBefore: 'text' });

/** The place in the queue of the customer's mails of flows up to which all was looked at. */
export interface QueuePlace {
  readonly id: bigint;
  /** To the microsecond, as the database writes it: mails of one batch have the same time, and there may be more of them than `max`. */
  readonly notBefore: string;
}

export const FIRST_PLACE: QueuePlace = { id: 0n, notBefore: '-infinity' };

/** What becomes of held mails (D85). */
export type HeldMails =
  | { readonly mode: 'now' }
  /** Those that should have gone then or before are skipped, with the reason `overdue`. */
  | { readonly mode: 'skip'; readonly until: Date }
  /** Evenly over so many hours from then on, in their order. `total`: of them all; `done`: those before. */
  | {
      readonly mode: 'spread';
      readonly from: Date;
      readonly hours: number;
      readonly total: number;
      readonly done: number;
    };

interface FlowKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
}

/** The mail of `q`, and its row of the ledger. */
export const WITH_LEDGER = sql`JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id ${LEDGER}`;

/** Mails that an earlier choice has spread keep their times when they are spread again. */
function isHeld({ automationId }: FlowKey, mode: HeldMails['mode']): Sql {
  const reasons = mode === 'spread' ? ['flow_stopped'] : ['flow_stopped', 'own_time'];
  return sql`m.source_kind = ${SOURCE_KINDS.automation} AND m.source_id = ${automationId} AND d.state = 'queued' AND d.reason = ANY (${reasons}::text[])`;
}

/** How many mails of the flow are held. */
export async function countHeldMails(db: Queryable, key: FlowKey): Promise<number> {
  const [found] = await db.query(
    { mails: 'int' },
    sql`SELECT count(*)::int AS mails FROM hot.message_queue q ${WITH_LEDGER}
         WHERE q.priority = ${PRIORITIES.flow} AND q.customer_id = ${key.customerId} AND q.not_before >= now() AND ${isHeld(key, 'spread')}`,
  );
  return found?.mails ?? 0;
}

/**
 * Lets those go that are among the next `max` mails of the customer's flows that wait for a later time, as was chosen. Returns the last of these,
 * undefined when there are no further ones, and how many were the flow's. What is due already, as after the last call, is not looked at again.
 */
export async function releaseMails(
  db: Queryable,
  key: FlowKey,
  { held, after, max }: { readonly held: HeldMails; readonly after: QueuePlace; readonly max: number },
): Promise<{ readonly last: QueuePlace | undefined; readonly released: number }> {
  const { customerId } = key;
  const waiting = await db.query(
    WAITING_ROW,
    sql`SELECT q.message_id AS id, q.not_before::text AS "notBefore" FROM hot.message_queue q
         WHERE q.priority = ${PRIORITIES.flow} AND q.customer_id = ${customerId} AND q.not_before >= greatest(now(), ${after.notBefore}::timestamptz)
           AND (q.not_before, q.message_id) > (${after.notBefore}::timestamptz, ${after.id}) ORDER BY q.not_before, q.message_id LIMIT ${max}`,
  );
  const ids = waiting.map(({ id }) => id);
  const released = await db.query(
    { id: 'bigint' },
    sql`WITH locked AS MATERIALIZED (
          SELECT q.message_id, q.customer_id, q.not_before FROM hot.message_queue q
           WHERE q.message_id = ANY (${ids}::bigint[]) AND q.owner IS NULL ORDER BY q.message_id FOR UPDATE SKIP LOCKED
        ), held AS MATERIALIZED (
          SELECT m.customer_id, m.id, m.snapshot_on, m.source_kind, m.source_id, m.recipient_id, m.created_at,
                 row_number() OVER (ORDER BY q.not_before, q.message_id) - 1 AS place
            FROM locked q ${WITH_LEDGER} WHERE ${isHeld(key, held.mode)}
        ), timed AS MATERIALIZED (SELECT h.*, ${timeOf(held)} AS at, ${reasonOf(held)} AS reason FROM held h
        ), marked AS (
          UPDATE hot.delivery d SET reason = t.reason FROM timed t
           WHERE d.snapshot_on = t.snapshot_on AND d.customer_id = t.customer_id AND d.source_kind = t.source_kind AND d.source_id = t.source_id
             AND d.recipient_id = t.recipient_id AND d.occurrence = t.id AND t.reason IS NOT NULL
        )
        UPDATE hot.message_queue q SET not_before = t.at FROM timed t WHERE q.message_id = t.id RETURNING q.message_id AS id`,
  );
  if (held.mode === 'spread')
    await dateByQueue(
      db,
      customerId,
      released.map(({ id }) => id),
    );
  await notify(db, MESSAGES_CHANNEL, '');
  return { last: waiting.length < max ? undefined : waiting.at(-1), released: released.length };
}

/** When a held mail `h` goes. */
function timeOf(held: HeldMails): Sql {
  if (held.mode !== 'spread') return sql`now()`;
  const { from, hours, total, done } = held;
  const share = sql`least(1, (${done}::float8 + h.place) / ${Math.max(1, total - 1)}::float8)`;
  return sql`${from}::timestamptz + make_interval(hours => ${hours}::int) * ${share}`;
}

/** By `overdue` whoever takes it closes it; null: as it is. */
function reasonOf(held: HeldMails): Sql {
  if (held.mode === 'skip') return sql`CASE WHEN h.created_at <= ${held.until}::timestamptz THEN 'overdue' END`;
  return held.mode === 'spread' ? sql`'own_time'` : sql`NULL::text`;
}
