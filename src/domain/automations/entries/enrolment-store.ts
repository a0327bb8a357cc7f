/** Writes of enrolments. One at a time for each automation; what a portion did and its place in the list are one transaction. */
import { row, sql, typed, type Queryable, type RowOf, type Transaction } from '../../../db/database.ts';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import type { AutomationStatus } from '../automation.ts';
import {
  ENROLMENT_COLUMNS,
  ENROLMENT_ROW,
  type Enrolment,
  type EnrolmentKey,
  type EnrolmentsKey,
  type Refused,
} from './enrolment-read-model.ts';
import { ENROLMENTS_KEPT, type EnrolmentFault, type EnrolmentStatus } from './enrolment.ts';

export interface NewEnrolment extends EnrolmentsKey {
  readonly listId: bigint;
  readonly rule: SegmentRule;
  readonly segmentUid: string | null;
  readonly withoutTriggers: boolean;
  /** The number of people that whoever began it agreed to. */
  readonly confirmed: number;
  /** No more than these enter. */
  readonly enteredMax: number;
  readonly perHour: number;
  /** How many people matched, with those who may not enter. */
  readonly matching: number;
}

/** Writes a new one, over the people who are on the list now; undefined: one is running. Deletes the oldest. */
export async function insertEnrolment(db: Queryable, given: NewEnrolment): Promise<Enrolment | undefined> {
  const { customerId, automationId, listId } = given;
  await db.execute(sql`
    DELETE FROM automation_enrolment WHERE customer_id = ${customerId} AND automation_id = ${automationId} AND status <> 'running' AND id <= (
      SELECT id FROM automation_enrolment WHERE customer_id = ${customerId} AND automation_id = ${automationId} ORDER BY id DESC OFFSET ${ENROLMENTS_KEPT - 1} LIMIT 1)`);
  const [made] = await db.query(
    ENROLMENT_ROW,
    sql`INSERT INTO automation_enrolment (customer_id, automation_id, rule, segment_uid, without_triggers, confirmed, entered_max, per_hour, matching, up_to)
        SELECT ${customerId}, ${automationId}, ${JSON.stringify(given.rule)}::jsonb, ${given.segmentUid}, ${given.withoutTriggers}, ${given.confirmed},
               ${given.enteredMax}, ${given.perHour}, ${given.matching},
               coalesce((SELECT max(s.id) FROM subscriber s WHERE s.customer_id = ${customerId} AND s.list_id = ${listId}), 0)
        ON CONFLICT (customer_id, automation_id) WHERE status = 'running' DO NOTHING RETURNING ${ENROLMENT_COLUMNS}`,
  );
  return made;
}

const PORTION_ROW = row({
  automationId: 'bigint',
  listId: 'bigint',
  automationStatus: typed<AutomationStatus>('text'),
  liveVersion: 'int?',
  cursor: 'bigint',
  upTo: 'bigint',
  enteredMax: 'int',
  entered: 'int',
  refused: typed<Refused>('json'),
  perHour: 'int',
  waitSeconds: 'float8',
});
export type EnrolmentPortion = RowOf<typeof PORTION_ROW>;

/**
 * Locks one that is running for its next portion; undefined: it has ended, or is gone. Who pauses the automation waits until the portion is
 * written, so nobody enters a paused one. The automation is locked first, as by all who change it.
 */
export async function lockEnrolment(tx: Transaction, { customerId, id }: EnrolmentKey) {
  await tx.execute(
    sql`SELECT 1 FROM automation a
         WHERE a.customer_id = ${customerId}
           AND a.id = (SELECT e.automation_id FROM automation_enrolment e WHERE e.customer_id = ${customerId} AND e.id = ${id}) FOR SHARE`,
    'automations.hold_for_portion',
  );
  const [found] = await tx.query(
    PORTION_ROW,
    sql`SELECT e.automation_id AS "automationId", a.list_id AS "listId", a.status AS "automationStatus", a.live_version AS "liveVersion", e.cursor,
               e.up_to AS "upTo", e.entered_max AS "enteredMax", e.entered, e.refused, e.per_hour AS "perHour",
               greatest(0, extract(epoch FROM e.next_at - clock_timestamp()))::float8 AS "waitSeconds"
          FROM automation_enrolment e JOIN automation a ON a.customer_id = e.customer_id AND a.id = e.automation_id
         WHERE e.customer_id = ${customerId} AND e.id = ${id} AND e.status = 'running' FOR UPDATE OF e`,
  );
  return found;
}

export interface PortionDone {
  readonly cursor: bigint;
  /** How many entered in this portion. */
  readonly people: number;
  /** Of all portions. */
  readonly refused: Refused;
  readonly isLast: boolean;
}

/** What was lost of the rate is made up for, but not more than of these seconds: a process was stopped, or an automation paused. */
const MADE_UP_SECONDS = 10;

/** Writes a portion of one that is locked, and when the next may be. */
export async function writePortion(
  tx: Transaction,
  { customerId, id }: EnrolmentKey,
  portion: PortionDone,
): Promise<void> {
  await tx.execute(
    sql`UPDATE automation_enrolment SET cursor = ${portion.cursor}, entered = entered + ${portion.people}::int, refused = ${JSON.stringify(portion.refused)}::jsonb,
               next_at = greatest(next_at, clock_timestamp() - make_interval(secs => ${MADE_UP_SECONDS})) + make_interval(secs => ${portion.people}::int * 3600.0 / per_hour),
               status = CASE WHEN ${portion.isLast} THEN 'done' ELSE status END, finished_at = CASE WHEN ${portion.isLast} THEN now() END
         WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

/** Ends one that is running; false: it had ended. */
export async function endEnrolment(
  db: Queryable,
  { customerId, id }: EnrolmentKey,
  { status, reason = null }: { readonly status: EnrolmentStatus; readonly reason?: EnrolmentFault | null },
): Promise<boolean> {
  const ended = await db.execute(
    sql`UPDATE automation_enrolment SET status = ${status}, reason = ${reason}, finished_at = now()
         WHERE customer_id = ${customerId} AND id = ${id} AND status = 'running'`,
  );
  return ended > 0;
}
