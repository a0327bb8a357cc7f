/** Whether a list, or a segment of it, has a person who would get mail now: subscribed, and not suppressed (decision D56). */
import { sql, type Queryable, type Sql } from '../../db/database.ts';
import { questionsOf } from './segments/plugin-condition.ts';
import { audienceSlice } from './segments/segment-read-model.ts';
import type { SegmentRule } from './segments/segment.ts';

export interface MailableQuestion {
  readonly customerId: bigint;
  readonly listId: bigint;
  /** Undefined: everybody on the list. */
  readonly rule: SegmentRule | undefined;
  /** Its own deliveries do not count in conditions of the rule. */
  readonly exceptCampaignId: bigint;
}

/** People looked at for one answer: half a second at most, however large the list is. */
const PEOPLE_MAX = 100_000;
/** Usually the first people decide. */
const FIRST_PEOPLE = 1_000;
/** Slices of a segment, each of a quarter of a second at most. */
const SEGMENT_SLICES_MAX = 4;

/**
 * `nobody`: there is certainly no such person. `unknown`: none among the people who were looked at, and there are more: a look at
 * all of a large list would take too long for a request. Must run in a transaction.
 */
export async function findMailable(
  db: Queryable,
  question: MailableQuestion,
): Promise<'somebody' | 'nobody' | 'unknown'> {
  if (!(await hasSubscribed(db, question))) return 'nobody';
  // Plugins are not asked within a transaction: the audience snapshot decides.
  if (question.rule && questionsOf(question.rule).size > 0) return 'unknown';
  return question.rule ? findInSegment(db, question, question.rule) : findOnList(db, question);
}

async function hasSubscribed(db: Queryable, { customerId, listId }: MailableQuestion): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM hot.list_counter WHERE customer_id = ${customerId} AND list_id = ${listId} AND subscribed > 0`,
  );
  return rows > 0;
}

async function findOnList(db: Queryable, question: MailableQuestion): Promise<'somebody' | 'nobody' | 'unknown'> {
  const { customerId, listId } = question;
  let [after, rows, seen] = [0n, FIRST_PEOPLE, 0];
  while (seen < PEOPLE_MAX) {
    const among = sql`(SELECT id, status, email_key FROM subscriber
                        WHERE customer_id = ${customerId} AND list_id = ${listId} AND id > ${after} ORDER BY id LIMIT ${rows})`;
    const [found] = await db.query(
      { seen: 'int', lastId: 'bigint?', isMailable: 'bool' },
      sql`WITH person AS MATERIALIZED ${among}
          SELECT count(*)::int AS seen, max(id) AS "lastId",
                 EXISTS (SELECT 1 FROM person s WHERE ${mailable(customerId)}) AS "isMailable" FROM person`,
      'audience.mailable',
    );
    if (found?.isMailable) return 'somebody';
    if (!found || found.lastId === null || found.seen < rows) return 'nobody';
    after = found.lastId;
    seen += found.seen;
    rows = PEOPLE_MAX - seen;
  }
  return 'unknown';
}

async function findInSegment(
  db: Queryable,
  { customerId, listId, exceptCampaignId }: MailableQuestion,
  rule: SegmentRule,
): Promise<'somebody' | 'nobody' | 'unknown'> {
  let afterId = 0n;
  const people = { customerId, listId, rule, exceptCampaignId, asOf: new Date(), answers: new Map() };
  for (let slice = 0; slice < SEGMENT_SLICES_MAX; slice++) {
    const { ids, lastId, isLast } = await audienceSlice(db, { ...people, afterId, rows: FIRST_PEOPLE });
    const found = await db.execute(
      sql`SELECT 1 FROM subscriber s WHERE s.customer_id = ${customerId} AND s.list_id = ${listId}
             AND s.id = ANY (${[...ids]}::bigint[]) AND ${mailable(customerId)} LIMIT 1`,
    );
    if (found > 0) return 'somebody';
    if (isLast || lastId === null) return 'nobody';
    afterId = lastId;
  }
  return 'unknown';
}

function mailable(customerId: bigint): Sql {
  return sql`s.status = 'subscribed' AND NOT EXISTS (
    SELECT 1 FROM suppression x WHERE x.customer_id IN (0, ${customerId}) AND x.email_key = s.email_key)`;
}
