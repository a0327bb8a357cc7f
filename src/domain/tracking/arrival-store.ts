/** Reads for reports that messages of campaigns have arrived: vendors send them by the hundred, so they are read together. */
import { sql, type Queryable } from '../../db/database.ts';
import { emailKey } from '../../lib/text.ts';
import type { DeliveryKey } from '../source-key.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';
import { REPORT_AGE_DAYS_MAX } from './delivery-report.ts';

export interface ArrivedDelivery {
  /** Place of its key among those that were given. */
  readonly place: number;
  readonly state: string;
  readonly isTooOld: boolean;
  /** The address to which the message went, as it is compared; null when the person is gone. */
  readonly emailKey: string | null;
}

/** The ledger's rows; those of campaigns or people that are gone, and of other sources, are left out. */
export async function findArrivedDeliveries(db: Queryable, keys: readonly DeliveryKey[]): Promise<ArrivedDelivery[]> {
  const rows = await db.query(
    { place: 'int', state: 'text', isTooOld: 'bool', email: 'text', isThere: 'bool' },
    sql`SELECT (k.no - 1)::int AS place, d.state, d.email, s.id IS NOT NULL AS "isThere",
               d.updated_at < now() - make_interval(days => ${REPORT_AGE_DAYS_MAX}) AS "isTooOld"
          FROM unnest(${keys.map((key) => key.customerId)}::bigint[], ${keys.map((key) => key.sourceId)}::bigint[],
                      ${keys.map((key) => key.recipientId)}::bigint[], ${keys.map((key) => key.occurrence)}::bigint[])
               WITH ORDINALITY AS k (customer_id, source_id, recipient_id, occurrence, no)
          JOIN campaign c ON c.customer_id = k.customer_id AND c.id = k.source_id
         CROSS JOIN LATERAL (
               SELECT l.state::text AS state, l.email, l.list_id, l.updated_at FROM hot.delivery l
                WHERE l.snapshot_on = c.snapshot_on AND l.customer_id = k.customer_id AND l.source_kind = ${CAMPAIGN}
                  AND l.source_id = k.source_id AND l.recipient_id = k.recipient_id AND l.occurrence = k.occurrence LIMIT 1) d
          LEFT JOIN subscriber s ON s.customer_id = k.customer_id AND s.list_id = d.list_id AND s.id = k.recipient_id`,
    'tracking.arrived_deliveries',
  );
  return rows.map(({ email, isThere, ...row }) => ({
    ...row,
    emailKey: isThere && email !== '' ? emailKey(email) : null,
  }));
}
