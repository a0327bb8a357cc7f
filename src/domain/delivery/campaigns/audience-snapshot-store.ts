/** Writes the audience to the ledger, slice by slice, and cuts ranges with open recipients into batches for the queue. */
import { empty, sql, type Queryable, type Sql } from '../../../db/database.ts';
import { audienceSlice } from '../../audience/segments/segment-read-model.ts';
import { keptAnswers, type SegmentSnapshot } from '../../audience/segments/segment.ts';
import type { LedgerKey } from '../ledger/delivery.ts';
import { inLedger } from '../ledger/ledger-read-model.ts';
import { knownZones, sendTimesOfPeople, zoneOf, type PeopleTimes } from './people-times-read-model.ts';
import { atLaterSendTime, SEND_TIME_REASON } from './send-time-store.ts';

/** Makes the partition of the ledger for that day if it does not exist. */
export async function ensurePartitionOf(db: Queryable, snapshotOn: string): Promise<void> {
  await db.execute(sql`SELECT hot.ensure_partitions(${snapshotOn}::date, ${snapshotOn}::date)`);
}

export interface SnapshotSlice {
  /** Rows written. */
  readonly planned: number;
  /** The highest subscriber id that was checked, or null when there was none. */
  readonly lastId: bigint | null;
  /** No people are left after it. */
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
  /** At most so many are written. */
  readonly rows: number;
  readonly batchSize: number;
  /** Null: everybody is due at once. */
  readonly times: PeopleTimes | null;
}

/**
 * Writes the next slice of the list's subscribed people to the ledger, suppressed ones closed at once, counts them, and cuts the
 * slice into batches. Runs in the transaction that moves the campaign's cursor.
 */
export async function snapshotSlice(db: Queryable, input: SliceInput): Promise<SnapshotSlice> {
  const next = sql`s.id > ${input.afterId} AND s.status = 'subscribed' ORDER BY s.id LIMIT ${input.rows}`;
  const slice = await writeSlice(db, input, { fitting: next, name: input.times ? undefined : 'delivery.plan' });
  return { ...slice, isComplete: slice.planned < input.rows };
}

/**
 * The same with people of the list in a segment. The cursor moves behind all that were checked, however few belong to it, so the
 * work of a slice is limited.
 */
export async function snapshotSegmentSlice(
  db: Queryable,
  input: SliceInput,
  { rule, asOf, answers }: Pick<SegmentSnapshot, 'rule' | 'asOf' | 'answers'>,
): Promise<SnapshotSlice> {
  const { key, listId, afterId, rows } = input;
  const { customerId, sourceId: campaignId } = key;
  const about = { customerId, listId, rule, asOf: new Date(asOf), answers: keptAnswers(answers) };
  const question = { ...about, exceptCampaignId: campaignId, afterId, rows };
  // The first slice searches no further: its messages should be sent at once.
  const isOneStretch = afterId === 0n;
  const { ids, lastId, isLast } = await audienceSlice(db, { ...question, isOneStretch });
  // The status is checked again: it may have changed since.
  const picked = sql`s.id = ANY (${[...ids]}::bigint[]) AND s.status = 'subscribed'`;
  return { ...(await writeSlice(db, input, { fitting: picked })), lastId, isComplete: isLast };
}

/** Writes matching people of the list, counts them and cuts them into batches. */
async function writeSlice(
  db: Queryable,
  { key, listId, batchSize, times }: SliceInput,
  { fitting, name }: { fitting: Sql; name?: string | undefined },
): Promise<{ batches: IdRange[]; planned: number; lastId: bigint | null }> {
  const sendTimes = times ? sendTimesOfPeople(times, await knownZones(db)) : empty;
  const later = sql`CASE WHEN x.email_key IS NULL AND m.at > now() THEN `;
  const parts = await db.query(
    { batch: 'bigint?', fromId: 'bigint', toId: 'bigint', planned: 'int' },
    sql`WITH person AS (
          SELECT s.id, s.email, s.email_key${times ? sql`, ${zoneOf(times)} AS zone` : empty} FROM public.subscriber s
           WHERE s.customer_id = ${key.customerId} AND s.list_id = ${listId} AND ${fitting}
        )${times ? sql`, moment AS MATERIALIZED (${sendTimes})` : empty}, inserted AS (
          INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email, state, reason${times ? sql`, not_before` : empty})
          SELECT ${key.snapshotOn}::date, ${key.customerId}::bigint, ${key.sourceKind}::smallint, ${key.sourceId}::bigint, p.id, ${listId}::bigint, p.email,
                 CASE WHEN x.email_key IS NULL THEN 'queued' ELSE 'suppressed' END::hot.delivery_state,
                 ${times ? sql`${later}${SEND_TIME_REASON} WHEN x.email_key IS NOT NULL THEN 'suppressed' END, ${later}m.at END` : sql`CASE WHEN x.email_key IS NOT NULL THEN 'suppressed' END`}
            FROM person p${times ? sql` JOIN moment m ON m.zone = p.zone` : empty}
            LEFT JOIN LATERAL (SELECT x.email_key FROM public.suppression x
                                WHERE x.customer_id IN (0, ${key.customerId}) AND x.email_key = p.email_key LIMIT 1) x ON true
          RETURNING recipient_id, state${times ? sql`, not_before` : empty}
        ), counted AS (
          INSERT INTO hot.delivery_counter AS c (customer_id, source_kind, source_id, audience, open, suppressed)
          SELECT ${key.customerId}, ${key.sourceKind}, ${key.sourceId}, count(*), count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'suppressed') FROM inserted
          ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET
            audience = c.audience + excluded.audience, open = c.open + excluded.open, suppressed = c.suppressed + excluded.suppressed
        )${times ? sql`, sendTimes AS (${keepSendTimes(key)})` : empty}, numbered AS (
          ${times ? dueNow(batchSize) : sql`SELECT recipient_id, (row_number() OVER (ORDER BY recipient_id) - 1) / ${batchSize}::int AS batch FROM inserted`}
        )
        SELECT batch, min(recipient_id) AS "fromId", max(recipient_id) AS "toId", count(*)::int AS planned FROM numbered GROUP BY batch ORDER BY batch`,
    name,
  );
  return {
    batches: parts.filter(({ batch }) => batch !== null),
    planned: parts.reduce((sum, part) => sum + part.planned, 0),
    lastId: parts.reduce<bigint | null>((last, { toId }) => (last === null || toId > last ? toId : last), null),
  };
}

/** Recipients with a later send time are in no batch. */
function dueNow(batchSize: number): Sql {
  return sql`SELECT recipient_id, CASE WHEN not_before IS NULL THEN
               (row_number() OVER (PARTITION BY not_before IS NULL ORDER BY recipient_id) - 1) / ${batchSize}::int END AS batch FROM inserted`;
}

function keepSendTimes({ customerId, sourceId }: LedgerKey): Sql {
  return sql`INSERT INTO hot.campaign_send_time AS w (customer_id, campaign_id, at, people)
             SELECT ${customerId}::bigint, ${sourceId}::bigint, not_before, count(*) FROM inserted WHERE not_before IS NOT NULL GROUP BY not_before
             ON CONFLICT (customer_id, campaign_id, at) DO UPDATE SET people = w.people + excluded.people`;
}

/** Cuts recipients whose send time has come, after `afterId`, into batches as `openBatches` does. */
export async function sendTimeBatches(
  db: Queryable,
  key: LedgerKey,
  options: { afterId: bigint; batchSize: number; batchesMax: number },
): Promise<IdRange[]> {
  return batchesOf(db, key, {
    ...options,
    which: sql`d.state = 'queued' AND d.not_before <= now() AND d.reason = ${SEND_TIME_REASON}`,
  });
}

/** Cuts open recipients after `afterId` into at most `batchesMax` batches, in order of the ids. */
export async function openBatches(
  db: Queryable,
  key: LedgerKey,
  options: { afterId: bigint; batchSize: number; batchesMax: number },
): Promise<IdRange[]> {
  return batchesOf(db, key, {
    ...options,
    which: sql`d.state IN ('queued', 'leased', 'sending') AND NOT ${atLaterSendTime}`,
  });
}

function batchesOf(
  db: Queryable,
  key: LedgerKey,
  options: { which: Sql; afterId: bigint; batchSize: number; batchesMax: number },
): Promise<IdRange[]> {
  return db.query(
    { fromId: 'bigint', toId: 'bigint' },
    sql`SELECT min(recipient_id) AS "fromId", max(recipient_id) AS "toId"
          FROM (SELECT recipient_id, (row_number() OVER (ORDER BY recipient_id) - 1) / ${options.batchSize}::int AS batch
                  FROM (SELECT d.recipient_id FROM hot.delivery d
                         WHERE ${inLedger(key)} AND d.recipient_id > ${options.afterId} AND ${options.which}
                         ORDER BY d.recipient_id LIMIT ${options.batchSize * options.batchesMax}) open) numbered
         GROUP BY batch ORDER BY batch`,
  );
}
