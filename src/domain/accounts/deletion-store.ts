/** Deletions of lists and campaigns whose rows are still being erased; triggers of those tables write them. */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';

const KIND = sql`CASE WHEN is_list THEN 'list' ELSE 'campaign' END AS kind`;

const DELETION = row({
  customerId: 'bigint',
  id: 'bigint',
  kind: typed<'list' | 'campaign'>('text'),
  targetId: 'bigint',
  uid: 'text',
  total: 'bigint',
});
export type Deletion = RowOf<typeof DELETION>;
type DeletionKey = Pick<Deletion, 'customerId' | 'id'>;

/** The oldest that is due, of one customer or of all. */
export async function findDueDeletion(db: Queryable, customerId: bigint | undefined): Promise<Deletion | undefined> {
  const [deletion] = await db.query(
    DELETION,
    sql`
    SELECT customer_id AS "customerId", id, ${KIND}, target_id AS "targetId", uid, total FROM hot.deletion
     WHERE next_try_at <= now() AND ${customerId === undefined ? sql`true` : sql`customer_id = ${customerId}`} ORDER BY id LIMIT 1`,
  );
  return deletion;
}

/** Seconds until the next deletion is due; null when there is none. */
export async function secondsUntilDue(db: Queryable): Promise<number | null> {
  const [row] = await db.query(
    { seconds: 'float8?' },
    sql`SELECT extract(epoch FROM min(next_try_at) - now())::float8 AS seconds FROM hot.deletion`,
  );
  return row?.seconds ?? null;
}

/** Tries a deletion again later. */
export async function postponeDeletion(db: Queryable, { customerId, id }: DeletionKey, minutes: number): Promise<void> {
  await db.execute(sql`
    UPDATE hot.deletion SET next_try_at = now() + make_interval(mins => ${minutes}::int)
     WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** Counts erased rows; answers how many there are now. */
export async function countErased(
  db: Queryable,
  { customerId, id }: DeletionKey,
  rows: number,
): Promise<bigint | undefined> {
  const [row] = await db.query(
    { erased: 'bigint' },
    sql`
    UPDATE hot.deletion SET erased = erased + ${rows}
     WHERE customer_id = ${customerId} AND id = ${id} RETURNING erased`,
  );
  return row?.erased;
}

/** Everything is erased. */
export async function endDeletion(db: Queryable, { customerId, id }: DeletionKey): Promise<void> {
  await db.execute(sql`DELETE FROM hot.deletion WHERE customer_id = ${customerId} AND id = ${id}`);
}

const DELETION_UNDER_WAY = row({
  kind: typed<'list' | 'campaign'>('text'),
  uid: 'text',
  name: 'text',
  /** People of the list or recipients of the campaign, and how many of them are erased. */
  total: 'float8',
  erased: 'float8',
  requestedAt: 'timestamptz',
});
export type DeletionUnderWay = RowOf<typeof DELETION_UNDER_WAY>;

/** The rest is shown when these are done. */
const SHOWN_MAX = 100;

/** What of the customer's is being erased, the oldest first. */
export function deletionsOf(db: Queryable, customerId: bigint): Promise<DeletionUnderWay[]> {
  return db.query(
    DELETION_UNDER_WAY,
    sql`
    SELECT ${KIND}, uid, name, total::float8 AS total, erased::float8 AS erased, requested_at AS "requestedAt"
      FROM hot.deletion WHERE customer_id = ${customerId} ORDER BY id LIMIT ${SHOWN_MAX}`,
  );
}
