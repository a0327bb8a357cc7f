/** The people whom events from outside name, and their lists: of one customer, a batch at once. */
import { row, sql, type Queryable, type RowOf } from '../../../db/database.ts';

/** By id or by address; a list narrows it. */
export interface PersonReference {
  readonly id: bigint | null;
  readonly emailKey: string | null;
  readonly listId: bigint | null;
}

const FOUND_ROW = row({ no: 'int', listId: 'bigint', id: 'bigint' });
export type FoundPerson = RowOf<typeof FOUND_ROW>;

/** Ids of the customer's lists by their uids. */
export async function listsByUid(
  db: Queryable,
  customerId: bigint,
  uids: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  if (uids.length === 0) return new Map();
  const rows = await db.query(
    { uid: 'text', id: 'bigint' },
    sql`SELECT uid, id FROM mail_list WHERE customer_id = ${customerId} AND uid = ANY (${[...new Set(uids)]}::text[])`,
    'automations.lists_by_uid',
  );
  return new Map(rows.map(({ uid, id }) => [uid, id]));
}

/**
 * `no` is the place of the reference; an address on several lists has several. Their rows cannot be deleted until the transaction ends: who is
 * erased meanwhile is erased with what it writes.
 */
export function peopleOfReferences(
  db: Queryable,
  customerId: bigint,
  references: readonly (PersonReference | undefined)[],
): Promise<FoundPerson[]> {
  return db.query(
    FOUND_ROW,
    sql`SELECT (w.no - 1)::int AS no, s.list_id AS "listId", s.id
          FROM unnest(${references.map((one) => one?.id ?? null)}::bigint[], ${references.map((one) => one?.emailKey ?? null)}::text[],
                      ${references.map((one) => one?.listId ?? null)}::bigint[]) WITH ORDINALITY AS w (id, email_key, list_id, no)
         CROSS JOIN LATERAL (
           SELECT i.list_id, i.id FROM (
             SELECT s.list_id, s.id FROM hot.subscriber_block b
               JOIN subscriber s ON s.customer_id = b.customer_id AND s.list_id = b.list_id AND s.id = w.id
              WHERE b.customer_id = ${customerId} AND b.block = w.id >> 11 FOR KEY SHARE OF s) i
           UNION ALL
           SELECT k.list_id, k.id FROM (
             SELECT s.list_id, s.id FROM subscriber s WHERE s.customer_id = ${customerId} AND s.email_key = w.email_key FOR KEY SHARE OF s) k) s
         WHERE (w.list_id IS NULL OR s.list_id = w.list_id)
           AND EXISTS (SELECT 1 FROM mail_list l WHERE l.customer_id = ${customerId} AND l.id = s.list_id)
         ORDER BY w.no, s.list_id`,
    'automations.people_of_references',
  );
}
