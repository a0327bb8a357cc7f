/** Published versions of flows, and the time zones of their lists. */
import { sql, row, typed, type Queryable } from '../../../db/database.ts';
import type { Flow } from '../flow/flow.ts';
import type { Zones } from './zones.ts';
import type { VersionKey } from './run.ts';

/** A version is stored as it was checked. */
const VERSION_ROW = row({ uid: 'text', listId: 'bigint', flow: typed<Flow>('json') });

export async function readVersion(db: Queryable, { customerId, automationId, version }: VersionKey) {
  const [found] = await db.query(
    VERSION_ROW,
    sql`SELECT a.uid, a.list_id AS "listId", v.flow FROM automation_version v
          JOIN automation a ON a.customer_id = v.customer_id AND a.id = v.automation_id
         WHERE v.customer_id = ${customerId} AND v.automation_id = ${automationId} AND v.number = ${version}`,
    'automations.version',
  );
  return found;
}

export async function zonesOfList(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
): Promise<Zones | undefined> {
  const [found] = await db.query(
    { tag: 'text?', fallback: 'text' },
    sql`SELECT l.timezone_tag AS tag, coalesce(l.timezone, c.timezone) AS fallback
          FROM mail_list l JOIN customer c ON c.id = l.customer_id
         WHERE l.customer_id = ${customerId} AND l.id = ${listId}`,
    'automations.zones',
  );
  return found;
}
