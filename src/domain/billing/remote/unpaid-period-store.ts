/** Periods that a vendor got nothing for and that were skipped here: its customer may pay them later. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { RemoteKey } from './remote-subscription-store.ts';

/** One of them. The vendor calls its end by a time between `from` (exclusive) and `to`: it may give or take days. */
export interface UnpaidPeriod {
  readonly endsAt: Date;
  readonly from: Date;
  readonly to: Date;
}

export async function insertUnpaidPeriod(
  db: Queryable,
  { customerId, id }: RemoteKey,
  period: UnpaidPeriod,
): Promise<void> {
  await db.execute(sql`
    INSERT INTO remote_unpaid_period (customer_id, remote_subscription_id, ends_at, matches_from, matches_to)
    VALUES (${customerId}, ${id}, ${period.endsAt}, ${period.from}, ${period.to}) ON CONFLICT DO NOTHING`);
}

/** Those that ended after `since`, the earliest first; older ones are not looked for any more. */
export function unpaidPeriods(db: Queryable, { customerId, id }: RemoteKey, since: Date): Promise<UnpaidPeriod[]> {
  return db.query(
    { endsAt: 'timestamptz', from: 'timestamptz', to: 'timestamptz' },
    sql`SELECT ends_at AS "endsAt", matches_from AS "from", matches_to AS "to" FROM remote_unpaid_period
         WHERE customer_id = ${customerId} AND remote_subscription_id = ${id} AND ends_at > ${since} ORDER BY ends_at`,
  );
}

/** It is paid now. False: that was known before. */
export async function deleteUnpaidPeriod(db: Queryable, { customerId, id }: RemoteKey, endsAt: Date): Promise<boolean> {
  const deleted = await db.execute(sql`
    DELETE FROM remote_unpaid_period WHERE customer_id = ${customerId} AND remote_subscription_id = ${id} AND ends_at = ${endsAt}`);
  return deleted === 1;
}
