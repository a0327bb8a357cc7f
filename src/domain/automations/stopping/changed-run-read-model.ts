/** Runs whose people were changed, or have gone, since a time. */
import { row, sql, type Queryable } from '../../../db/database.ts';
import { isSuppressed } from '../../audience/people-store.ts';
import { withId } from '../../audience/subscriber-store.ts';
import type { VersionKey } from '../runs/run.ts';

const CHANGED_ROW = row({ id: 'bigint', personId: 'bigint', hasChanged: 'bool' });

/**
 * The next runs of the flow, by their ids, with whether the person was changed since then, is suppressed, or is gone. Whatever changes a
 * person writes `updated_at`.
 */
export function nextChanged(
  db: Queryable,
  { customerId, automationId }: Omit<VersionKey, 'version'>,
  { since, after, max }: { readonly since: Date; readonly after: bigint; readonly max: number },
) {
  return db.query(
    CHANGED_ROW,
    sql`WITH next AS MATERIALIZED (
          SELECT r.id, r.person_id FROM hot.flow_run r
           WHERE r.customer_id = ${customerId} AND r.automation_id = ${automationId} AND r.id > ${after} ORDER BY r.id LIMIT ${max})
        SELECT n.id, n.person_id AS "personId", coalesce(p.changed, true) AS "hasChanged" FROM next n
          JOIN automation a ON a.customer_id = ${customerId} AND a.id = ${automationId}
          LEFT JOIN LATERAL (SELECT s.updated_at > ${since} OR ${isSuppressed(customerId)} AS changed FROM subscriber s
                              WHERE ${withId({ customerId, listId: sql`a.list_id`, id: sql`n.person_id` })}) p ON true
         ORDER BY n.id`,
    'automations.next_changed',
  );
}
