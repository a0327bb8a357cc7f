/**
 * Writes that set the ledger up: the audience goes in slice by slice, and ranges that still owe something are cut
 * into batches for the queue.
 */
import { sql, type Queryable, type Sql } from '../../db/database.ts';
import { audienceSlice } from '../audience/segments/segment-people.ts';
import type { SegmentSnapshot } from '../audience/segments/segment.ts';
import type { LedgerKey } from './delivery.ts';

export interface PlannedSlice {
  /** Rows written. */
  readonly planned: number;
  /** The highest subscriber id that was looked at, or null when there was none. */
  readonly lastId: bigint | null;
  /** Nobody is left behind it. */
  readonly isComplete: boolean;
  readonly batches: readonly IdRange[];
}

/** Subscriber ids from..to, both included. */
export interface IdRange {
  readonly fromId: bigint;
  readonly toId: bigint;
}

export interface SliceInput {
  readonly key: LedgerKey;
  readonly listId: bigint;
  /** Ids up to this one are in the ledger already. */
  readonly afterId: bigint;
  /** People to look at: without a segment, those that are written. */
  readonly rows: number;
  readonly batchSize: number;
}

/**
 * Writes the next slice of the list's subscribed people into the ledger, suppressed ones closed at once, counts
 * them, and cuts the slice into batches. Runs in the transaction that moves the campaign's cursor.
 */
export async function planSlice(db: Queryable, input: SliceInput): Promise<PlannedSlice> {
  const next = sql`s.id > ${input.afterId} AND s.status = 'subscribed' ORDER BY s.id LIMIT ${input.rows}`;
  const { batches, planned } = await writeSlice(db, input, { fitting: next, name: 'delivery.plan' });
  return { batches, planned, lastId: batches.at(-1)?.toId ?? null, isComplete: planned < input.rows };
}

/**
 * The same with the people of the list that the rule picks. So many are looked at, however few belong to it, and the
 * cursor goes behind them: the work of a slice is bounded, and nobody is looked at twice.
 */
export async function planSegmentSlice(
  db: Queryable,
  input: SliceInput,
  { rule, asOf }: Pick<SegmentSnapshot, 'rule' | 'asOf'>,
): Promise<PlannedSlice> {
  const { key, listId, afterId, rows } = input;
  const { customerId, campaignId } = key;
  const question = { customerId, listId, rule, asOf: new Date(asOf), exceptCampaignId: campaignId, afterId, rows };
  const { ids, lastId, isLast } = await audienceSlice(db, question);
  // The status is asked again: it may have changed since.
  const picked = sql`s.id = ANY (${[...ids]}::bigint[]) AND s.status = 'subscribed'`;
  return { ...(await writeSlice(db, input, { fitting: picked })), lastId, isComplete: isLast };
}

/** Writes the list's people that fit, counts them and cuts them into batches. */
async function writeSlice(
  db: Queryable,
  { key, listId, batchSize }: SliceInput,
  { fitting, name }: { fitting: Sql; name?: string },
): Promise<{ batches: IdRange[]; planned: number }> {
  const batches = await db.query<{ fromId: bigint; toId: bigint; planned: number }>(
    sql`WITH person AS (
          SELECT s.id, s.email, s.email_key FROM public.subscriber s
           WHERE s.customer_id = ${key.customerId} AND s.list_id = ${listId} AND ${fitting}
        ), inserted AS (
          INSERT INTO hot.delivery (planned_on, customer_id, campaign_id, subscriber_id, email, state, reason)
          SELECT ${key.plannedOn}::date, ${key.customerId}::bigint, ${key.campaignId}::bigint, p.id, p.email,
                 CASE WHEN x.email_key IS NULL THEN 'queued' ELSE 'suppressed' END::hot.delivery_state,
                 CASE WHEN x.email_key IS NOT NULL THEN 'suppressed' END
            FROM person p
            LEFT JOIN LATERAL (SELECT x.email_key FROM public.suppression x
                                WHERE x.customer_id IN (0, ${key.customerId}) AND x.email_key = p.email_key LIMIT 1) x ON true
          RETURNING subscriber_id, state
        ), counted AS (
          INSERT INTO hot.delivery_counter AS c (customer_id, campaign_id, audience, open, suppressed)
          SELECT ${key.customerId}, ${key.campaignId}, count(*), count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'suppressed') FROM inserted
          ON CONFLICT (customer_id, campaign_id) DO UPDATE SET
            audience = c.audience + excluded.audience, open = c.open + excluded.open, suppressed = c.suppressed + excluded.suppressed
        ), numbered AS (
          SELECT subscriber_id, (row_number() OVER (ORDER BY subscriber_id) - 1) / ${batchSize}::int AS batch FROM inserted
        )
        SELECT min(subscriber_id) AS "fromId", max(subscriber_id) AS "toId", count(*)::int AS planned FROM numbered GROUP BY batch ORDER BY batch`,
    name,
  );
  return { batches, planned: batches.reduce((sum, batch) => sum + batch.planned, 0) };
}

/** Cuts what the ledger still owes after `afterId` into at most `batchesMax` batches, in order of the ids. */
export async function openBatches(
  db: Queryable,
  key: LedgerKey,
  options: { afterId: bigint; batchSize: number; batchesMax: number },
): Promise<IdRange[]> {
  return db.query<{ fromId: bigint; toId: bigint }>(
    sql`SELECT min(subscriber_id) AS "fromId", max(subscriber_id) AS "toId"
          FROM (SELECT subscriber_id, (row_number() OVER (ORDER BY subscriber_id) - 1) / ${options.batchSize}::int AS batch
                  FROM (SELECT d.subscriber_id FROM hot.delivery d
                         WHERE d.planned_on = ${key.plannedOn}::date AND d.customer_id = ${key.customerId} AND d.campaign_id = ${key.campaignId}
                           AND d.subscriber_id > ${options.afterId} AND d.state IN ('queued', 'leased', 'sending')
                         ORDER BY d.subscriber_id LIMIT ${options.batchSize * options.batchesMax}) open) numbered
         GROUP BY batch ORDER BY batch`,
  );
}
