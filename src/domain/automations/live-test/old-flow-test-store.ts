/** Live tests of flows whose job is lost, and old ones. */
import { sql, type Queryable } from '../../../db/database.ts';
import { FLOW_TESTS_KEPT_DAYS } from './flow-test.ts';

/** The job of a running one comes within moments of its time: after so long it was dropped, as after the restoring of a backup. */
const LOST_HOURS = 1;

/** Ends tests whose jobs are lost; returns how many. */
export function endLostFlowTests(db: Queryable): Promise<number> {
  return db.execute(
    sql`UPDATE automation_test SET status = 'failed', reason = 'failed', finished_at = now()
         WHERE status = 'running' AND next_at < now() - make_interval(hours => ${LOST_HOURS}::int)`,
    'automations.end_lost_tests',
  );
}

/** Deletes tests of some days ago, at most `max`; returns how many. */
export function deleteOldFlowTests(db: Queryable, max: number): Promise<number> {
  return db.execute(
    sql`DELETE FROM automation_test WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM automation_test WHERE created_at < now() - make_interval(days => ${FLOW_TESTS_KEPT_DAYS}::int) LIMIT ${max}))`,
    'automations.delete_old_tests',
  );
}
