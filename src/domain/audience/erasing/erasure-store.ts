/** Erasures of people: the rest to be erased, with the encrypted address, and what an owner sees of it. */
import { sql, row, typed, type Queryable, type RowOf } from '../../../db/database.ts';

export const ERASURE_STATUSES = ['running', 'done'] as const;

const ERASURE_ROW = row({
  customerId: 'bigint',
  uid: 'text',
  status: typed<(typeof ERASURE_STATUSES)[number]>('text'),
  /** On how many lists the person was. */
  people: 'int',
  requestedAt: 'timestamptz',
  finishedAt: 'timestamptz?',
});
export type Erasure = RowOf<typeof ERASURE_ROW>;

const COLUMNS = sql`customer_id AS "customerId", uid, status, people, requested_at AS "requestedAt", finished_at AS "finishedAt"`;

export interface NewErasure {
  readonly customerId: bigint;
  readonly uid: string;
  /** The address. */
  readonly sealed: Buffer;
  /** All subscribers that were removed from lists. */
  readonly subscriberIds: readonly bigint[];
  readonly userId: bigint;
}

const NEW_ERASURE_ROW = row({
  ...ERASURE_ROW,
  id: 'bigint',
});

export async function insertErasure(db: Queryable, erasure: NewErasure): Promise<Erasure & { readonly id: bigint }> {
  const { customerId, uid, sealed, subscriberIds, userId } = erasure;
  const [row] = await db.query(
    NEW_ERASURE_ROW,
    sql`
    INSERT INTO erasure (customer_id, uid, sealed_email, subscriber_ids, people, requested_by)
    VALUES (${customerId}, ${uid}, ${sealed}, ${[...subscriberIds]}::bigint[], ${subscriberIds.length}, ${userId})
    RETURNING ${COLUMNS}, id`,
  );
  if (!row) throw new Error('An inserted erasure came back empty.');
  return row;
}

/** The erasure with this uid if it belongs to one of these customers. */
export async function findErasure(
  db: Queryable,
  customerIds: readonly bigint[],
  uid: string,
): Promise<Erasure | undefined> {
  const [erasure] = await db.query(
    ERASURE_ROW,
    sql`SELECT ${COLUMNS} FROM erasure WHERE customer_id = ANY (${[...customerIds]}::bigint[]) AND uid = ${uid}`,
  );
  return erasure;
}

const OPEN_ERASURE_ROW = row({
  customerId: 'bigint',
  uid: 'text',
  sealed: 'bytea',
  subscriberIds: 'bigint[]',
  /** By the clock of the database: when this read began, after the person was removed from every list. */
  begunAt: 'text',
});
export type OpenErasure = RowOf<typeof OPEN_ERASURE_ROW>;

/** The rest of an erasure; undefined when it is done. */
export async function openErasure(db: Queryable, customerId: bigint, id: bigint): Promise<OpenErasure | undefined> {
  const [open] = await db.query(
    OPEN_ERASURE_ROW,
    sql`
    SELECT customer_id AS "customerId", uid, sealed_email AS sealed, subscriber_ids AS "subscriberIds",
           clock_timestamp()::text AS "begunAt"
      FROM erasure WHERE customer_id = ${customerId} AND id = ${id} AND status = 'running'`,
  );
  return open;
}

/**
 * Whether a statement that marks messages as sending began before this check and still runs: it sees the lists with the person on
 * them. Checked first: what it has marked is then found to be under way.
 */
export async function isMarkRunning(db: Queryable, begunAt: string): Promise<boolean> {
  const rows = await db.execute(sql`
    SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'active' AND query_start <= ${begunAt}::timestamptz
       AND pid <> pg_backend_pid() AND query ~ 'hot[.]record_and_mark[(]' LIMIT 1`);
  return rows > 0;
}

/** Removes the person's data from the row of the erasure. */
export async function endErasure(db: Queryable, customerId: bigint, id: bigint): Promise<void> {
  await db.execute(sql`
    UPDATE erasure SET status = 'done', sealed_email = NULL, subscriber_ids = '{}', finished_at = now()
     WHERE customer_id = ${customerId} AND id = ${id}`);
}
