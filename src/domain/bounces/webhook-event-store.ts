/** Rows of events that vendors have posted, each known by a digest of its id, so that it is processed once. */
import { sql, type Queryable } from '../../db/database.ts';
import { databaseNow } from '../../db/now.ts';

/** The sending server of the vendor. */
export interface WebhookSource {
  readonly customerId: bigint;
  readonly serverId: bigint;
}

/** Inserts events by their keys; answers the keys of those that are new, and the time. */
export async function insertWebhookEvents(
  db: Queryable,
  { customerId, serverId }: WebhookSource,
  keys: readonly Buffer[],
): Promise<{ readonly fresh: readonly Buffer[]; readonly now: Date }> {
  const rows = await db.query(
    { key: 'bytea' },
    sql`INSERT INTO hot.webhook_event (customer_id, server_id, event_key)
        SELECT ${customerId}, ${serverId}, k FROM unnest(${[...keys]}::bytea[]) AS k ORDER BY k
        ON CONFLICT DO NOTHING RETURNING event_key AS key`,
    'bounces.webhook_events',
  );
  return { fresh: rows.map(({ key }) => key), now: await databaseNow(db) };
}

/** Vendors repeat for days; older events are no longer accepted. */
const KEPT_DAYS = 31;

/** Deletes the ids of events that no vendor repeats any more. */
export async function dropOldWebhookEvents({ db }: { readonly db: Queryable }): Promise<void> {
  await db.execute(sql`DELETE FROM hot.webhook_event WHERE at < now() - make_interval(days => ${KEPT_DAYS})`);
}
