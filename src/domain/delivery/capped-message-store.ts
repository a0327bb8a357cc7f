/**
 * Places within frequency caps (D82): a message takes one before it is handed over, and gives it back when it certainly was not sent. What counts
 * and what waits is decided in the database, for campaigns and flows of all processes together.
 */
import { row, sql, type Queryable } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import { capNumbers, HOLD_DAYS_MAX, type FrequencyCaps } from '../audience/frequency-cap.ts';
import type { LedgerKey, RecipientKey } from './ledger/delivery.ts';

/** A message that needs a place. */
export interface CappedMessage extends RecipientKey {
  readonly email: string;
}

/** Messages of one source to people of one list, or of none. */
export interface CappedMessages {
  readonly key: LedgerKey;
  readonly listId: bigint | null;
  readonly caps: FrequencyCaps;
  readonly messages: readonly CappedMessage[];
}

const PLACE_ROW = row({ no: 'int', takenAt: 'timestamptz?', delaySeconds: 'float8?' });

/** The place of a message; or for how long it waits for one; or it is not sent. */
export type Place = { readonly takenAt: Date } | { readonly delaySeconds: number } | 'skip';

/** Takes a place for each of the messages, whose addresses differ; in their order. Repeating it takes no second place. */
export async function takePlaces(
  db: Queryable,
  { key, listId, caps, messages }: CappedMessages,
): Promise<readonly Place[]> {
  const rows = await db.query(
    PLACE_ROW,
    sql`SELECT place_no AS no, taken_at AS "takenAt", delay_seconds AS "delaySeconds" FROM hot.take_capped(
          ${key.customerId}, ${listId}, ${key.sourceKind}, ${key.sourceId}, ${keysOf(messages)}::text[],
          ${messages.map(({ occurrence }) => occurrence)}::bigint[], ${capNumbers(caps.customer)}::int[], ${capNumbers(caps.list)}::int[])`,
    'delivery.take_capped',
  );
  const places = new Map(
    rows.map(({ no, takenAt, delaySeconds }): [number, Place] => [
      no,
      takenAt ? { takenAt } : delaySeconds === null ? 'skip' : { delaySeconds },
    ]),
  );
  return messages.map((_message, no) => places.get(no + 1) ?? 'skip');
}

/** Messages that took their places at the same time. */
export interface TakenPlaces {
  readonly key: LedgerKey;
  readonly messages: readonly CappedMessage[];
  readonly takenAt: Date;
}

/** By the ledger: those that may have been sent keep their places, counted from now on; the others give them back. */
export async function endPlaces(db: Queryable, { key, messages, takenAt }: TakenPlaces): Promise<void> {
  await db.query(
    { ended: 'text?' },
    sql`SELECT hot.end_capped(
          ${key.customerId}, ${key.sourceKind}, ${key.sourceId}, ${key.snapshotOn}::date, ${keysOf(messages)}::text[],
          ${messages.map(({ recipientId }) => recipientId)}::bigint[], ${messages.map(({ occurrence }) => occurrence)}::bigint[],
          ${takenAt})::text AS ended`,
    'delivery.end_capped',
  );
}

function keysOf(messages: readonly CappedMessage[]): string[] {
  return messages.map(({ email }) => emailKey(email));
}

/** So many rows are deleted in one statement. */
const DELETED_AT_ONCE = 10_000;

/** Deletes places that no cap of their customers counts any more; returns how many. */
export async function deleteOldPlaces(db: Queryable): Promise<number> {
  let deleted = 0;
  for (;;) {
    const rows = await db.execute(sql`
      WITH longest AS (
        SELECT c.customer_id, max(c.days) AS days
          FROM (SELECT id AS customer_id, (frequency_cap ->> 'days')::int AS days FROM customer WHERE frequency_cap IS NOT NULL
                UNION ALL
                SELECT customer_id, (frequency_cap ->> 'days')::int FROM mail_list WHERE frequency_cap IS NOT NULL) c
         GROUP BY 1
      ), old AS (
        SELECT m.customer_id, m.email_key, m.source_kind, m.source_id, m.occurrence
          FROM hot.capped_message m LEFT JOIN longest l ON l.customer_id = m.customer_id
         WHERE coalesce(m.at, m.held_since) < now() - make_interval(days => greatest(l.days, ${HOLD_DAYS_MAX}) + 1)
         LIMIT ${DELETED_AT_ONCE})
      DELETE FROM hot.capped_message WHERE (customer_id, email_key, source_kind, source_id, occurrence) IN (SELECT * FROM old)`);
    deleted += rows;
    if (rows < DELETED_AT_ONCE) return deleted;
  }
}
