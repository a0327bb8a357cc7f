/** Many people of a list at once, for flows. */
import { randomUUID } from 'node:crypto';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';

interface PeopleList {
  readonly customerId: bigint;
  readonly id: bigint;
}

/** Ids of so many new subscribers, by ascending id. */
export async function subscriberPeople(db: Queryable, list: PeopleList, count: number): Promise<bigint[]> {
  const prefix = randomUUID();
  const rows = await queryRows<{ id: bigint }>(
    db,
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields, tags)
        SELECT ${list.customerId}, ${list.id}, e.email, e.email, 'subscribed', '{}', '{}'
          FROM generate_series(1, ${count}::int) n, LATERAL (SELECT ${`${prefix}-`} || n || '@example.org' AS email) e
        RETURNING id`,
  );
  return rows.map(({ id }) => id).sort((a, b) => (a < b ? -1 : 1));
}
