/** Reads what campaigns wait for: from their rows, the queue and the ledger. */
import { sql, row, typed, type Queryable, type Sql, type RowOf } from '../../db/database.ts';
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { queuedJobs } from '../../jobs/queue-internals-store.ts';
import type { ChangedHolding } from '../accounts/enqueue-held-mails.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';
import type { StatusReason, WaitReason } from './status-reason.ts';

/** Batches are shorter than this. */
const WAIT_SECONDS_MIN = 3;

const STORED_REASON_ROW = row({
  reason: typed<StatusReason | WaitReason>('json?'),
  until: 'timestamptz?',
  isSending: 'bool',
  isQueued: 'bool',
});
export type StoredReason = RowOf<typeof STORED_REASON_ROW>;

/** The stored reasons, in order. */
export function storedReasons(db: Queryable, keys: readonly CampaignKey[]): Promise<StoredReason[]> {
  return db.query(
    STORED_REASON_ROW,
    sql`SELECT CASE WHEN coalesce(c.wait_kind, c.reason_code) IS NOT NULL THEN
                 jsonb_build_object('code', coalesce(c.wait_kind, c.reason_code), 'params', coalesce(c.reason_params, '{}')) END AS reason,
               c.wait_until AS until, coalesce(c.status = 'sending', false) AS "isSending", coalesce(c.status = 'queued', false) AS "isQueued"
          FROM ${listed(keys)} LEFT JOIN campaign c ON c.customer_id = k.customer_id AND c.id = k.campaign_id
         ORDER BY k.no`,
    'campaigns.status-reasons',
  );
}

/** The campaigns as rows `k`, numbered from 1. */
function listed(keys: readonly CampaignKey[]): Sql {
  return sql`unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ campaignId }) => campaignId)}::bigint[])
    WITH ORDINALITY AS k (customer_id, campaign_id, no)`;
}

export interface UnderWay extends CampaignKey {
  /** Its position among the given ones, from 0. */
  readonly no: number;
  readonly snapshotOn: string | null;
  readonly hasSnapshot: boolean;
}

const CAMPAIGN_UNDER_WAY_ROW = row({
  no: 'int',
  snapshotOn: 'text?',
  hasSnapshot: 'bool',
  customerId: 'bigint',
  campaignId: 'bigint',
});

/** Those with open recipients and no stored wait. */
export function campaignsUnderWay(db: Queryable, keys: readonly CampaignKey[]): Promise<UnderWay[]> {
  return db.query(
    CAMPAIGN_UNDER_WAY_ROW,
    sql`SELECT k.no::int - 1 AS no, k.customer_id AS "customerId", k.campaign_id AS "campaignId",
               c.snapshot_on::text AS "snapshotOn", c.snapshot_at IS NOT NULL AS "hasSnapshot"
          FROM ${listed(keys)}
          JOIN campaign c ON c.customer_id = k.customer_id AND c.id = k.campaign_id AND c.status = 'sending' AND c.wait_kind IS NULL
          JOIN hot.delivery_counter d ON d.customer_id = c.customer_id AND d.source_kind = ${CAMPAIGN} AND d.source_id = c.id AND d.open > 0
         ORDER BY k.no`,
    'campaigns.under-way',
  );
}

export interface NextBatch extends UnderWay {
  readonly at: Date;
  readonly fromId: string;
  readonly toId: string;
}

/** The next batch of each campaign that has none running or due. */
export async function nextBatches(db: Queryable, campaigns: readonly UnderWay[]): Promise<NextBatch[]> {
  if (campaigns.length === 0) return [];
  const rows = await db.query(
    { campaignId: 'text', at: 'timestamptz', fromId: 'text', toId: 'text' },
    sql`WITH job AS MATERIALIZED (
          SELECT j.payload ->> 'campaignId' AS campaign, j.run_at, j.payload ->> 'fromId' AS from_id, j.payload ->> 'toId' AS to_id,
                 j.is_running OR j.run_at < now() + make_interval(secs => ${WAIT_SECONDS_MIN}) AS is_near
            FROM ${queuedJobs} j
           WHERE j.name = ${sendBatchJob.name} AND NOT j.is_given_up
             AND j.payload ->> 'campaignId' = ANY(${campaigns.map(({ campaignId }) => String(campaignId))}::text[])
        ), waiting AS (
          SELECT campaign, min(run_at) AS run_at FROM job GROUP BY campaign HAVING NOT bool_or(is_near)
        )
        SELECT DISTINCT ON (campaign) campaign AS "campaignId", run_at AS at, from_id AS "fromId", to_id AS "toId"
          FROM waiting JOIN job USING (campaign, run_at) ORDER BY campaign`,
    'campaigns.next-batches',
  );
  const byCampaign = new Map(rows.map((row) => [row.campaignId, row]));
  return campaigns.flatMap((campaign) => {
    const next = byCampaign.get(String(campaign.campaignId));
    return next ? [{ ...next, ...campaign }] : [];
  });
}

const BATCH_REASON_ROW = row({
  index: 'int',
  reason: 'text?',
  said: 'text?',
});
export type BatchReason = RowOf<typeof BATCH_REASON_ROW>;

/** For each batch the first row of the ledger, and the reason of its row or its provider. */
export function reasonsOfBatches(db: Queryable, batches: readonly NextBatch[]): Promise<BatchReason[]> {
  return db.query(
    BATCH_REASON_ROW,
    sql`SELECT k.no::int - 1 AS index, d.reason, coalesce(d.reply, (
                 SELECT h.mailbox_group || ': ' || h.last_error FROM hot.sending_health h
                  WHERE h.server_id = d.server_id AND h.mailbox_group <> '' AND h.open_until > now() ORDER BY h.open_until LIMIT 1)) AS said
          FROM unnest(${batches.map(({ snapshotOn }) => snapshotOn)}::date[], ${batches.map(({ customerId }) => customerId)}::bigint[],
                      ${batches.map(({ campaignId }) => campaignId)}::bigint[], ${batches.map(({ fromId }) => fromId)}::bigint[],
                      ${batches.map(({ toId }) => toId)}::bigint[]) WITH ORDINALITY AS k (snapshot_on, customer_id, campaign_id, from_id, to_id, no)
         CROSS JOIN LATERAL (
           SELECT d.reason, d.reply, d.server_id FROM hot.delivery d
            WHERE d.snapshot_on = k.snapshot_on AND d.customer_id = k.customer_id AND d.source_kind = ${CAMPAIGN} AND d.source_id = k.campaign_id
              AND d.recipient_id BETWEEN k.from_id AND k.to_id AND d.state = 'queued' AND d.not_before > now()
            ORDER BY d.not_before LIMIT 1) d`,
    'campaigns.waits-of-batches',
  );
}

/** Campaigns that wait for something other than a send time, and whether the wait is over. */
export function waitingCampaigns(db: Queryable): Promise<(CampaignKey & { readonly isDue: boolean })[]> {
  return db.query(
    { customerId: 'bigint', campaignId: 'bigint', isDue: 'bool' },
    sql`SELECT customer_id AS "customerId", id AS "campaignId", coalesce(wait_until <= now(), false) AS "isDue" FROM campaign c
         WHERE status = 'sending' AND wait_kind IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM hot.campaign_send_time w WHERE w.customer_id = c.customer_id AND w.campaign_id = c.id AND w.at = c.wait_until)
         ORDER BY customer_id, id`,
  );
}

const MAY_HOLD_ROW = row({ customerId: 'bigint', campaignId: 'bigint', hasOwnTimes: 'bool', waitsForHours: 'bool' });
/** A campaign some of whose recipients may be held back. */
export type MayHold = RowOf<typeof MAY_HOLD_ROW>;

/** Campaigns that have begun and are not done, of a list or of all lists of the customer. */
export function campaignsThatMayHold(db: Queryable, { customerId, listId }: ChangedHolding): Promise<MayHold[]> {
  return db.query(
    MAY_HOLD_ROW,
    sql`SELECT c.customer_id AS "customerId", c.id AS "campaignId", c.deliver_in_subscriber_timezone AS "hasOwnTimes",
               coalesce(c.wait_kind IN ('quiet_hours', 'quiet_hours_of_recipients'), false) AS "waitsForHours"
          FROM campaign c
         WHERE c.customer_id = ${customerId} AND (${listId}::bigint IS NULL OR c.list_id = ${listId})
           AND c.status IN ('sending', 'paused') AND c.snapshot_on IS NOT NULL ORDER BY c.id`,
    'campaigns.may_hold',
  );
}
