/**
 * What a campaign that is being sent waits for, and until when: its servers, or whoever is left. Derived when somebody
 * looks, so it says what is true now and goes away by itself; waits that the campaign's row knows (a plan's limit, quiet
 * hours, people's own times) are there.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { sendBatchJob } from '../../jobs/campaign-jobs.ts';
import { readableTime } from '../../lib/units.ts';
import type { Context } from '../context.ts';
import { serverWait, type Wait } from '../sending/server-wait.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';

/** Batches come and go in less. */
const WAIT_SECONDS_MIN = 3;
/** Rarely are more of one page under way; of the last ones only what is written down is told. */
const LOOKS_MAX = 25;
const REPLY_LENGTH_MAX = 200;

/** Undefined: it gets on, or is not being sent. */
export async function campaignWait(db: Queryable, key: CampaignKey): Promise<Wait | undefined> {
  const { customerId, campaignId } = key;
  const [campaign] = await db.query<{ plannedOn: string | null; isPlanned: boolean }>(
    sql`SELECT c.planned_on::text AS "plannedOn", c.planned_at IS NOT NULL AS "isPlanned" FROM campaign c
          JOIN hot.delivery_counter d ON d.customer_id = c.customer_id AND d.campaign_id = c.id AND d.open > 0
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId} AND c.status = 'sending' AND c.waits_until IS NULL`,
  );
  if (!campaign) return undefined;
  const wait = await serverWait(db, key);
  if (wait || !campaign.isPlanned || campaign.plannedOn === null) return wait;
  const next = await nextBatch(db, campaignId);
  return next && waitOfBatch(db, { ...key, plannedOn: campaign.plannedOn, ...next });
}

/** What readers of these campaigns are told, in their order: what one waits for now, else what was written down. */
export async function statusReasonsOf(
  { db }: Pick<Context, 'db'>,
  keys: readonly CampaignKey[],
): Promise<(string | null)[]> {
  const rows = await db.query<{ reason: string | null; isSending: boolean }>(
    sql`SELECT c.status_reason AS reason, coalesce(c.status = 'sending', false) AS "isSending"
          FROM unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ campaignId }) => campaignId)}::bigint[])
               WITH ORDINALITY AS k (customer_id, campaign_id, no)
          LEFT JOIN campaign c ON c.customer_id = k.customer_id AND c.id = k.campaign_id
         ORDER BY k.no`,
    'campaigns.status-reasons',
  );
  const reasons: (string | null)[] = [];
  let looks = 0;
  for (const [no, { reason, isSending }] of rows.entries()) {
    const key = keys[no];
    const wait = key && isSending && looks++ < LOOKS_MAX ? await campaignWait(db, key) : undefined;
    reasons.push(wait?.text ?? reason);
  }
  return reasons;
}

interface NextBatch {
  readonly at: Date;
  readonly fromId: string;
  readonly toId: string;
}

/** The batch that comes first, when none is at work or due. The queue's public view has no payload. */
async function nextBatch(db: Queryable, campaignId: bigint): Promise<NextBatch | undefined> {
  const ofCampaign = sql`j.task_id = (SELECT t.id FROM graphile_worker._private_tasks t WHERE t.identifier = ${sendBatchJob.name})
    AND j.payload ->> 'campaignId' = ${String(campaignId)} AND j.attempts < j.max_attempts`;
  const [row] = await db.query<NextBatch & Record<string, unknown>>(
    sql`SELECT j.run_at AS at, j.payload ->> 'fromId' AS "fromId", j.payload ->> 'toId' AS "toId" FROM graphile_worker._private_jobs j
         WHERE ${ofCampaign} AND NOT EXISTS (
           SELECT 1 FROM graphile_worker._private_jobs j WHERE ${ofCampaign}
              AND (j.locked_at IS NOT NULL OR j.run_at < now() + make_interval(secs => ${WAIT_SECONDS_MIN})))
         ORDER BY j.run_at LIMIT 1`,
    'campaigns.next-batch',
  );
  return row;
}

/** Why the first of those in it waits: another try, a provider that asked to wait, the limit of a domain. */
async function waitOfBatch(
  db: Queryable,
  { customerId, campaignId, plannedOn, at, fromId, toId }: CampaignKey & NextBatch & { plannedOn: string },
): Promise<Wait | undefined> {
  const [row] = await db.query<{ reason: string | null; said: string | null }>(
    sql`SELECT d.reason, coalesce(d.reply, (
                 SELECT h.mailbox_group || ': ' || h.last_error FROM hot.server_health h
                  WHERE h.server_id = d.server_id AND h.mailbox_group <> '' AND h.open_until > now() ORDER BY h.open_until LIMIT 1)) AS said
          FROM hot.delivery d
         WHERE d.planned_on = ${plannedOn}::date AND d.customer_id = ${customerId} AND d.campaign_id = ${campaignId}
           AND d.subscriber_id BETWEEN ${fromId}::bigint AND ${toId}::bigint AND d.state = 'queued' AND d.not_before > now()
         ORDER BY d.not_before LIMIT 1`,
  );
  if (!row) return undefined;
  const why = [row.reason, row.said?.slice(0, REPLY_LENGTH_MAX)].filter(Boolean).join('; ');
  return { text: `Nobody who is left can be sent to before ${readableTime(at)} (${why}).`, isInOrder: true };
}
