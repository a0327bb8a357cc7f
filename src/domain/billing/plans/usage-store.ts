/**
 * How much of a plan's limits a customer uses. Small nouns are counted from rows, people from the counters that triggers keep.
 * For an exact limit call this under `lockUsage`.
 */
import { sql, type Queryable, type Sql, type Transaction } from '../../../db/database.ts';
import { lockUntilCommit } from '../../../db/lock.ts';

/** The limits of a plan that count existing things. */
export type CountedLimit =
  | 'list_max'
  | 'subscriber_max'
  | 'subscriber_per_list_max'
  | 'segment_per_list_max'
  | 'campaign_max'
  | 'automation_max'
  | 'sending_servers_max'
  | 'email_verification_servers_max'
  | 'sending_domains_max';

/** What is counted: for the customer, and for one of its lists if the limit is per list. */
export interface UsageKey {
  readonly customerId: bigint;
  readonly limit: CountedLimit;
  /** For limits per list. */
  readonly listId?: bigint | undefined;
}

const PEOPLE = sql`coalesce(sum(subscribed + unsubscribed + unconfirmed + pending), 0)`;

/** Nobody else can create one of these for this customer until the transaction ends, so the count stays right. */
export async function lockUsage(tx: Transaction, { customerId, limit }: UsageKey): Promise<void> {
  await lockUntilCommit(tx, `mailwright:usage:${limit}:${customerId}`);
}

/** How many there are now. */
export async function countUsage(db: Queryable, key: UsageKey): Promise<number> {
  const [row] = await db.query({ used: 'float8' }, sql`SELECT (${counted(key)})::float8 AS used`);
  return row?.used ?? 0;
}

/** How many people are on each of these lists of the customer, and on all its lists. */
export async function countPeople(
  db: Queryable,
  customerId: bigint,
  listIds: readonly bigint[],
): Promise<{ readonly everywhere: number; readonly byList: ReadonlyMap<bigint, number> }> {
  const everywhere = await countUsage(db, { customerId, limit: 'subscriber_max' });
  const lists = await db.query(
    { listId: 'bigint', people: 'float8' },
    sql`SELECT list_id AS "listId", ${PEOPLE}::float8 AS people FROM hot.list_counter
         WHERE customer_id = ${customerId} AND list_id = ANY (${[...listIds]}::bigint[]) GROUP BY list_id`,
    'billing.count_people',
  );
  return { everywhere, byList: new Map(lists.map(({ listId, people }) => [listId, people])) };
}

/** The count as a subselect. */
function counted({ customerId, limit, listId }: UsageKey): Sql {
  switch (limit) {
    case 'list_max':
      return sql`SELECT count(*) FROM mail_list WHERE customer_id = ${customerId}`;
    case 'subscriber_max':
      return sql`SELECT ${PEOPLE} FROM hot.list_counter WHERE customer_id = ${customerId}`;
    case 'subscriber_per_list_max':
      return sql`SELECT ${PEOPLE} FROM hot.list_counter WHERE customer_id = ${customerId} AND list_id = ${listId ?? null}`;
    case 'segment_per_list_max':
      return sql`SELECT count(*) FROM segment WHERE customer_id = ${customerId} AND list_id = ${listId ?? null}`;
    case 'campaign_max':
      return sql`SELECT count(*) FROM campaign WHERE customer_id = ${customerId}`;
    case 'automation_max':
      return sql`SELECT count(*) FROM automation WHERE customer_id = ${customerId}`;
    case 'sending_servers_max':
      return sql`SELECT count(*) FROM sending_server WHERE customer_id = ${customerId} AND NOT is_system`;
    case 'email_verification_servers_max':
      return sql`SELECT count(*) FROM email_verification_server WHERE customer_id = ${customerId} AND NOT is_system`;
    case 'sending_domains_max':
      return sql`SELECT count(*) FROM sending_domain WHERE customer_id = ${customerId}`;
  }
}

/** Bytes of all the customer's uploaded files. */
export async function uploadedBytes(db: Queryable, customerId: bigint): Promise<number> {
  const [row] = await db.query(
    { bytes: 'float8' },
    sql`SELECT coalesce(sum(size_bytes), 0)::float8 AS bytes FROM uploaded_file WHERE customer_id = ${customerId}`,
  );
  return row?.bytes ?? 0;
}
