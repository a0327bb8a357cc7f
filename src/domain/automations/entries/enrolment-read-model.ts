/** Reads of enrolments. */
import { row, sql, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { SegmentRule } from '../../audience/segments/segment.ts';
import type { AutomationStatus } from '../automation.ts';
import type { EnrolmentFault, EnrolmentStatus } from './enrolment.ts';
import type { Refusal } from './enter-people.ts';

/** How many were refused, by reason. */
export type Refused = Readonly<Partial<Record<Refusal, number>>>;

export const ENROLMENT_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  automationId: 'bigint',
  status: typed<EnrolmentStatus>('text'),
  reason: typed<EnrolmentFault | null>('text?'),
  segmentUid: 'text?',
  withoutTriggers: 'bool',
  confirmed: 'int',
  perHour: 'int',
  matching: 'int',
  entered: 'int',
  refused: typed<Refused>('json'),
  createdAt: 'timestamptz',
  finishedAt: 'timestamptz?',
});
export type Enrolment = RowOf<typeof ENROLMENT_ROW>;

export const ENROLMENT_COLUMNS = sql`customer_id AS "customerId", id, automation_id AS "automationId", status, reason, segment_uid AS "segmentUid",
  without_triggers AS "withoutTriggers", confirmed, per_hour AS "perHour", matching, entered, refused, created_at AS "createdAt", finished_at AS "finishedAt"`;

export interface EnrolmentsKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
}

/** The latest of an automation, the newest first. */
export function latestEnrolments(db: Queryable, { customerId, automationId }: EnrolmentsKey, limit: number) {
  return db.query(
    ENROLMENT_ROW,
    sql`SELECT ${ENROLMENT_COLUMNS} FROM automation_enrolment
         WHERE customer_id = ${customerId} AND automation_id = ${automationId} ORDER BY id DESC LIMIT ${limit}`,
  );
}

export interface EnrolmentKey {
  readonly customerId: bigint;
  readonly id: bigint;
}

const ASKED_ROW = row({
  listId: 'bigint',
  automationStatus: typed<AutomationStatus>('text'),
  rule: typed<SegmentRule>('json'),
});

/** The rule of one that is running, and the status of its automation; undefined: it has ended, or is gone. */
export async function ruleOfEnrolment(db: Queryable, { customerId, id }: EnrolmentKey) {
  const [found] = await db.query(
    ASKED_ROW,
    sql`SELECT a.list_id AS "listId", a.status AS "automationStatus", e.rule FROM automation_enrolment e
          JOIN automation a ON a.customer_id = e.customer_id AND a.id = e.automation_id
         WHERE e.customer_id = ${customerId} AND e.id = ${id} AND e.status = 'running'`,
  );
  return found;
}
