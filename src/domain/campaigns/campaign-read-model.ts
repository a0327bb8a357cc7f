/** Reads about campaigns that the program needs itself: unfinished, finished, changed. */
import { sql, typed, row, type Queryable } from '../../db/database.ts';
import { sendAtTimeJob, sendBatchJob, snapshotAudienceJob } from '../../jobs/campaign-jobs.ts';
import { queuedJobs } from '../../jobs/queue-internals-store.ts';
import type { LedgerRange, UnknownPolicy } from '../delivery/ledger/delivery.ts';
import { CAMPAIGN_KEY_ROW, type CampaignKey } from '../statistics/campaign-key.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';

const UNKNOWN_RANGES_ROW = row({
  fromId: 'bigint',
  toId: 'bigint',
  snapshotOn: 'text',
  customerId: 'bigint',
  sourceKind: 'smallint',
  sourceId: 'bigint',
  policy: typed<UnknownPolicy>('text'),
});

/** Ranges of dead workers in campaigns that are not being sent, with the policy of each. */
export function unknownRanges(db: Queryable): Promise<(LedgerRange & { readonly policy: UnknownPolicy })[]> {
  return db.query(
    UNKNOWN_RANGES_ROW,
    sql`SELECT s.snapshot_on::text AS "snapshotOn", s.customer_id AS "customerId", s.source_kind AS "sourceKind", s.source_id AS "sourceId",
               s.from_id AS "fromId", s.to_id AS "toId", c.unknown_policy AS policy
          FROM hot.send_slice s JOIN campaign c ON s.source_kind = ${CAMPAIGN} AND c.customer_id = s.customer_id AND c.id = s.source_id
         WHERE s.is_over AND c.status <> 'sending'`,
  );
}

/** Campaigns that are under way, wait for nothing, and have no job. */
export function campaignsWithoutJobs(db: Queryable): Promise<CampaignKey[]> {
  return db.query(
    CAMPAIGN_KEY_ROW,
    sql`SELECT c.customer_id AS "customerId", c.id AS "campaignId" FROM campaign c
         WHERE c.status IN ('queued', 'sending') AND c.wait_kind IS NULL
           AND NOT EXISTS (SELECT 1 FROM ${queuedJobs} j
                            WHERE j.name IN (${snapshotAudienceJob.name}, ${sendBatchJob.name}, ${sendAtTimeJob.name})
                              AND j.payload ->> 'campaignId' = c.id::text AND NOT j.is_given_up)`,
  );
}

/** Whether the counters say that nothing is open: a cheap check. */
export async function looksFinished(db: Queryable, { customerId, campaignId }: CampaignKey): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM campaign c LEFT JOIN hot.delivery_counter d ON d.customer_id = c.customer_id AND d.source_kind = ${CAMPAIGN} AND d.source_id = c.id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId} AND c.status = 'sending' AND c.snapshot_at IS NOT NULL AND coalesce(d.open, 0) = 0`,
    'campaigns.looks-finished',
  );
  return rows > 0;
}

/** Whether the campaign's content is still of this version. */
export async function isAtVersion(
  db: Queryable,
  { customerId, campaignId, contentVersion }: CampaignKey & { readonly contentVersion: number | null },
): Promise<boolean> {
  const rows = await db.execute(
    sql`SELECT 1 FROM campaign WHERE customer_id = ${customerId} AND id = ${campaignId} AND content_version = ${contentVersion}`,
  );
  return rows > 0;
}
