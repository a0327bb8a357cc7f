/** Jobs of automations in the queue: what is under way without one, and what others wait for. */
import { row, sql, type Queryable } from '../../../db/database.ts';
import { enrolJob, movePeopleJob, unparkJob } from '../../../jobs/automation-jobs.ts';
import { queuedJobs } from '../../../jobs/queue-internals-store.ts';
import type { VersionKey } from '../runs/run.ts';

const ENROLMENT_ROW = row({ customerId: 'bigint', id: 'bigint', isGivenUp: 'bool' });

/** Enrolments that are running without a job. `isGivenUp`: there was one, and the queue tries it no more. */
export function enrolmentsWithoutJobs(db: Queryable) {
  return db.query(
    ENROLMENT_ROW,
    sql`WITH j AS MATERIALIZED (
          SELECT j.payload ->> 'enrolmentId' AS enrolment, bool_or(j.is_running OR NOT j.is_given_up) AS is_tried
            FROM ${queuedJobs} j WHERE j.name = ${enrolJob.name} GROUP BY 1)
        SELECT e.customer_id AS "customerId", e.id, j.enrolment IS NOT NULL AS "isGivenUp"
          FROM automation_enrolment e LEFT JOIN j ON j.enrolment = e.id::text
         WHERE e.status = 'running' AND j.is_tried IS NOT TRUE`,
    'automations.enrolments_without_jobs',
  );
}

const MOVES_ROW = row({ customerId: 'bigint', automationId: 'bigint', version: 'int', isLast: 'bool' });

/** Versions to which people are being moved without a job. `isLast`: all but the last round is done. */
export function movesWithoutJobs(db: Queryable) {
  return db.query(
    MOVES_ROW,
    sql`WITH j AS MATERIALIZED (
          SELECT j.payload ->> 'automationId' AS automation, j.payload ->> 'version' AS version
            FROM ${queuedJobs} j WHERE j.name = ${movePeopleJob.name} AND (j.is_running OR NOT j.is_given_up))
        SELECT v.customer_id AS "customerId", v.automation_id AS "automationId", v.number AS version,
               v.moved_at IS NOT NULL AS "isLast"
          FROM automation_version v
         WHERE v.moves IS NOT NULL AND v.moves_ended_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM j WHERE j.automation = v.automation_id::text AND j.version = v.number::text)`,
    'automations.moves_without_jobs',
  );
}

/** Whether parked runs of the automation are being made due by a job. */
export async function isUnparking(
  db: Queryable,
  { customerId, automationId }: Pick<VersionKey, 'customerId' | 'automationId'>,
): Promise<boolean> {
  const found = await db.execute(
    sql`SELECT 1 FROM ${queuedJobs} j
         WHERE j.name = ${unparkJob.name} AND j.payload ->> 'customerId' = ${String(customerId)} AND j.payload ->> 'automationId' = ${String(automationId)}
           AND (j.is_running OR NOT j.is_given_up) LIMIT 1`,
    'automations.is_unparking',
  );
  return found > 0;
}
