/**
 * What a campaign that is being sent waits for, and until when: its servers, or whoever is left. Derived when somebody
 * looks, so it says what is true now and goes away by itself; waits that the campaign's row knows (a plan's limit, quiet
 * hours, people's own times) are there.
 */
import { sql, type Queryable, type Sql } from '../../db/database.ts';
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { queuedJobs } from '../../jobs/queue-internals.ts';
import type { Context } from '../context.ts';
import { serverWaits } from '../sending/server-wait.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { standstillOf } from './standstill.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';
import { reasonText, type LiveWait, type StatusReason, type WaitReason } from './status-reason.ts';

/** Batches come and go in less. */
const WAIT_SECONDS_MIN = 3;
/** No page has more of them under way; of the last ones only what is written down is told. */
const LOOKS_MAX = 1_000;
const REPLY_LENGTH_MAX = 200;

/** What a campaign waits for just now. */
export interface Wait {
  readonly reason: LiveWait;
  /** Nothing has to be mended: it goes on by itself. */
  readonly isInOrder: boolean;
}

/** For each campaign, in their order; undefined: it gets on, or is not being sent. Four statements, however many they are. */
export async function campaignWaits(
  db: Queryable,
  keys: readonly CampaignKey[],
): Promise<readonly (Wait | undefined)[]> {
  const underWay = await campaignsUnderWay(db, keys);
  if (underWay.length === 0) return [];
  const waits: (Wait | undefined)[] = [];
  const ofServers = await serverWaits(db, underWay);
  for (const [index, { no }] of underWay.entries()) waits[no] = ofServers[index];
  const batches = await nextBatches(
    db,
    underWay.filter(({ no, hasSnapshot, snapshotOn }) => waits[no] === undefined && hasSnapshot && snapshotOn !== null),
  );
  for (const { no, wait } of await waitsOfBatches(db, batches)) waits[no] = wait;
  return waits;
}

/**
 * What readers of these campaigns are told, in their order: what keeps all of them from getting on, else what one waits for now,
 * else what was written down.
 */
export async function statusReasonsOf(
  { db }: Pick<Context, 'db'>,
  keys: readonly CampaignKey[],
): Promise<(string | null)[]> {
  interface Row {
    readonly [column: string]: unknown;
    readonly reason: StatusReason | WaitReason | null;
    readonly until: Date | null;
    readonly isSending: boolean;
    readonly isQueued: boolean;
  }
  const rows = await db.query<Row>(
    sql`SELECT CASE WHEN coalesce(c.wait_kind, c.reason_code) IS NOT NULL THEN
                 jsonb_build_object('code', coalesce(c.wait_kind, c.reason_code), 'params', coalesce(c.reason_params, '{}')) END AS reason,
               c.wait_until AS until, coalesce(c.status = 'sending', false) AS "isSending", coalesce(c.status = 'queued', false) AS "isQueued"
          FROM ${listed(keys)} LEFT JOIN campaign c ON c.customer_id = k.customer_id AND c.id = k.campaign_id
         ORDER BY k.no`,
    'campaigns.status-reasons',
  );
  const reasons = rows.map(({ reason, until }) => (reason === null ? null : reasonText(reason, until) || null));
  if (rows.some(({ isSending, isQueued }) => isSending || isQueued)) {
    const standstill = await standstillOf(db);
    if (standstill !== null)
      return rows.map(({ isSending, isQueued }, no) => (isSending || isQueued ? standstill : (reasons[no] ?? null)));
  }
  const looks = keys.flatMap((key, no) => (rows[no]?.isSending ? [{ ...key, no }] : [])).slice(0, LOOKS_MAX);
  const waits = looks.length > 0 ? await campaignWaits(db, looks) : [];
  for (const [index, { no }] of looks.entries()) {
    const wait = waits[index];
    if (wait) reasons[no] = reasonText(wait.reason);
  }
  return reasons;
}

/** The campaigns as rows `k`, numbered from 1. */
function listed(keys: readonly CampaignKey[]): Sql {
  return sql`unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ campaignId }) => campaignId)}::bigint[])
    WITH ORDINALITY AS k (customer_id, campaign_id, no)`;
}

interface UnderWay extends CampaignKey {
  /** Its place among those that were asked for, from 0. */
  readonly no: number;
  readonly snapshotOn: string | null;
  readonly hasSnapshot: boolean;
}

/** Those that have somebody left and know of no wait themselves. */
function campaignsUnderWay(db: Queryable, keys: readonly CampaignKey[]): Promise<UnderWay[]> {
  return db.query<UnderWay & Record<string, unknown>>(
    sql`SELECT k.no::int - 1 AS no, k.customer_id AS "customerId", k.campaign_id AS "campaignId",
               c.snapshot_on::text AS "snapshotOn", c.snapshot_at IS NOT NULL AS "hasSnapshot"
          FROM ${listed(keys)}
          JOIN campaign c ON c.customer_id = k.customer_id AND c.id = k.campaign_id AND c.status = 'sending' AND c.wait_kind IS NULL
          JOIN hot.delivery_counter d ON d.customer_id = c.customer_id AND d.source_kind = ${CAMPAIGN} AND d.source_id = c.id AND d.open > 0
         ORDER BY k.no`,
    'campaigns.under-way',
  );
}

interface NextBatch extends UnderWay {
  readonly at: Date;
  readonly fromId: string;
  readonly toId: string;
}

/** The batch that comes first, of each of which none is at work or due. */
async function nextBatches(db: Queryable, campaigns: readonly UnderWay[]): Promise<NextBatch[]> {
  if (campaigns.length === 0) return [];
  const rows = await db.query<{ campaignId: string; at: Date; fromId: string; toId: string }>(
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

/** Why the first of those in each waits: another try, a provider that asked to wait, the limit of a domain. */
async function waitsOfBatches(db: Queryable, batches: readonly NextBatch[]): Promise<{ no: number; wait: Wait }[]> {
  if (batches.length === 0) return [];
  const rows = await db.query<{ index: number; reason: string | null; said: string | null }>(
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
  return rows.flatMap(({ index, reason, said }) => {
    const batch = batches[index];
    if (!batch) return [];
    const params = { at: batch.at.toISOString(), reason, said: said?.slice(0, REPLY_LENGTH_MAX) ?? null };
    return [{ no: batch.no, wait: { reason: { code: 'next_batch', params }, isInOrder: true } }];
  });
}
