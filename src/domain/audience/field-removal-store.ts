/** Removed fields whose values are still stored with people, and the removing of these values in slices. */
import { sql, type Queryable } from '../../db/database.ts';

export interface FieldRemoval {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly tag: string;
}

export async function insertRemoval(db: Queryable, { customerId, listId, tag }: FieldRemoval): Promise<void> {
  await db.execute(
    sql`INSERT INTO field_removal (customer_id, list_id, tag) VALUES (${customerId}, ${listId}, ${tag}) ON CONFLICT DO NOTHING`,
  );
}

/** Whether values of a removed field with this tag are still stored. */
export async function isBeingRemoved(db: Queryable, { customerId, listId, tag }: FieldRemoval): Promise<boolean> {
  const removals = await db.execute(
    sql`SELECT 1 FROM field_removal WHERE customer_id = ${customerId} AND list_id = ${listId} AND tag = ${tag}`,
  );
  return removals > 0;
}

/**
 * Removes the values of the next `limit` people, locked in the order of ids as by all writers. Returns whether there may be
 * more people; undefined when there is no such removal.
 */
export async function removeNextValues(
  tx: Queryable,
  { customerId, listId, tag }: FieldRemoval,
  limit: number,
): Promise<boolean | undefined> {
  const [removal] = await tx.query(
    { doneId: 'bigint' },
    sql`SELECT done_id AS "doneId" FROM field_removal
         WHERE customer_id = ${customerId} AND list_id = ${listId} AND tag = ${tag} FOR UPDATE`,
  );
  if (!removal) return undefined;
  const people = sql`customer_id = ${customerId} AND list_id = ${listId} AND id > ${removal.doneId}`;
  const [slice] = await tx.query(
    { lastId: 'bigint?', people: 'int' },
    sql`SELECT max(id) AS "lastId", count(*)::int AS people
          FROM (SELECT id FROM subscriber WHERE ${people} ORDER BY id LIMIT ${limit}) s`,
  );
  if (!slice?.lastId) return false;
  const withValue = sql`${people} AND id <= ${slice.lastId} AND fields ? ${tag}::text`;
  await tx.execute(sql`SELECT 1 FROM subscriber WHERE ${withValue} ORDER BY id FOR NO KEY UPDATE`);
  // The field is gone, which is nothing that happened to these people.
  await tx.execute(sql`SELECT set_config('mailwright.person_events', 'off', true)`);
  await tx.execute(sql`UPDATE subscriber SET fields = fields - ${tag}::text WHERE ${withValue}`);
  await tx.execute(
    sql`UPDATE field_removal SET done_id = ${slice.lastId}
         WHERE customer_id = ${customerId} AND list_id = ${listId} AND tag = ${tag}`,
  );
  return slice.people === limit;
}

/** All values are removed: the tag is free. */
export async function endRemoval(db: Queryable, { customerId, listId, tag }: FieldRemoval): Promise<void> {
  await db.execute(
    sql`DELETE FROM field_removal WHERE customer_id = ${customerId} AND list_id = ${listId} AND tag = ${tag}`,
  );
}
