/** What plugins have answered to conditions of segments: an answer, and its people as bits (decision record 0071). */
import { sql, type Queryable } from '../../../db/database.ts';

/** A list with its customer. */
export interface ListOfAnswer {
  readonly customerId: bigint;
  readonly listId: bigint;
}

export interface AnswerKey extends ListOfAnswer {
  readonly id: bigint;
}

/** So long a request, or an answer of a process that has died, may need its rows. */
const KEPT_HOURS = 1;
/** Of a campaign whose audience is not planned: a dry run may take some hours. */
const KEPT_FOR_CAMPAIGN_HOURS = 24;

/** Begins an answer; returns its id. */
export async function insertAnswer(
  db: Queryable,
  { customerId, listId }: ListOfAnswer,
  { question, campaignId }: { readonly question: string; readonly campaignId: bigint | null },
): Promise<bigint> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`INSERT INTO hot.segment_answer (customer_id, list_id, question, campaign_id)
        VALUES (${customerId}, ${listId}, ${question}, ${campaignId}) RETURNING id`,
  );
  if (!row) throw new Error('Assertion failed: an insert returns its row');
  return row.id;
}

/** Adds those of these people who are on the list. Ids of others, also of other customers, match nobody. */
export async function addToAnswer(
  db: Queryable,
  { customerId, listId, id }: AnswerKey,
  subscriberIds: readonly bigint[],
): Promise<void> {
  await db.execute(sql`
    INSERT INTO hot.segment_answer_block AS b (customer_id, list_id, answer_id, block, members)
    SELECT s.customer_id, s.list_id, ${id}::bigint, s.id >> 11, bit_or(hot.person_bit(s.id))
      FROM subscriber s
     WHERE s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ANY (${[...subscriberIds]}::bigint[])
     GROUP BY s.customer_id, s.list_id, s.id >> 11
    ON CONFLICT (customer_id, list_id, answer_id, block) DO UPDATE SET members = b.members | excluded.members`);
}

/** From now on it may be used. */
export async function completeAnswer(db: Queryable, { customerId, listId, id }: AnswerKey): Promise<boolean> {
  const completed = await db.execute(sql`
    UPDATE hot.segment_answer SET complete_at = now() WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ${id}`);
  return completed > 0;
}

/** The latest complete answer to a request with this question, at most so many seconds old. */
export async function freshAnswer(
  db: Queryable,
  { customerId, listId }: ListOfAnswer,
  { question, secondsMax }: { readonly question: string; readonly secondsMax: number },
): Promise<bigint | undefined> {
  const [row] = await db.query(
    { id: 'bigint' },
    sql`SELECT id FROM hot.segment_answer
         WHERE customer_id = ${customerId} AND list_id = ${listId} AND question = ${question} AND campaign_id IS NULL
           AND complete_at > now() - make_interval(secs => ${secondsMax})
         ORDER BY complete_at DESC LIMIT 1`,
  );
  return row?.id;
}

/** Whether all of these answers are there and complete; they are not deleted before the transaction ends. */
export async function holdAnswers(
  db: Queryable,
  { customerId, listId }: ListOfAnswer,
  ids: readonly bigint[],
): Promise<boolean> {
  const held = await db.execute(sql`
    SELECT 1 FROM hot.segment_answer WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ANY (${[...ids]}::bigint[])
       AND complete_at IS NOT NULL FOR KEY SHARE`);
  return held === new Set(ids).size;
}

export async function deleteAnswer(db: Queryable, { customerId, listId, id }: AnswerKey): Promise<void> {
  await db.execute(sql`
    WITH gone AS (
      DELETE FROM hot.segment_answer WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ${id})
    DELETE FROM hot.segment_answer_block WHERE customer_id = ${customerId} AND list_id = ${listId} AND answer_id = ${id}`);
}

/** Deletes answers that nobody uses any more: not those of campaigns whose audience is not complete. */
export async function deleteOldAnswers(db: Queryable): Promise<void> {
  await db.execute(sql`
    WITH gone AS (
      DELETE FROM hot.segment_answer a
       WHERE a.created_at < now() - make_interval(hours => CASE WHEN a.campaign_id IS NULL THEN ${KEPT_HOURS}::int ELSE ${KEPT_FOR_CAMPAIGN_HOURS}::int END)
         AND NOT EXISTS (
           SELECT 1 FROM campaign c CROSS JOIN LATERAL jsonb_each_text(c.segment_snapshot -> 'answers') AS used (question, id)
            WHERE c.customer_id = a.customer_id AND c.id = a.campaign_id AND c.snapshot_at IS NULL AND used.id = a.id::text)
      RETURNING a.customer_id, a.list_id, a.id)
    DELETE FROM hot.segment_answer_block b USING gone g
     WHERE b.customer_id = g.customer_id AND b.list_id = g.list_id AND b.answer_id = g.id`);
}
