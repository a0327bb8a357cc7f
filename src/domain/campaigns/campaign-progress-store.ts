/** The progress of campaigns under way (hot.campaign_progress). */
import { sql, row, typed, type Queryable, type RowOf } from '../../db/database.ts';
import type { LedgerKey } from '../delivery/ledger/delivery.ts';
import { inLedger } from '../delivery/ledger/ledger-read-model.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';

/** No alarm before this: servers wait, retries wait, workers are replaced. */
const EXPECTED_SECONDS_MIN = 60;
/** The longest expected step: a campaign at one message an hour still gets an alarm after a day. */
const EXPECTED_SECONDS_MAX = 28_800;
const EXPECTED_TIMES_MAX = 3;
/** A continuing alarm is repeated for people who look at the latest lines only. */
const REPEAT_SECONDS = 3_600;

const STALL_ROW = row({
  customerId: 'bigint',
  campaignId: 'bigint',
  uid: 'text',
  snapshotOn: 'text?',
  since: 'timestamptz',
});
export type Stall = RowOf<typeof STALL_ROW>;

/** Campaigns that are stalled now, for administrators. */
export function stalledCampaigns(db: Queryable): Promise<{ uid: string; since: Date }[]> {
  return db.query(
    { uid: 'text', since: 'timestamptz' },
    sql`SELECT c.uid, w.changed_at AS since FROM hot.campaign_progress w
          JOIN campaign c ON c.customer_id = w.customer_id AND c.id = w.campaign_id
         WHERE w.alarmed_at IS NOT NULL ORDER BY w.changed_at LIMIT 1000`,
  );
}

/**
 * Records campaigns with progress, and deletes those not under way. A campaign that waits for its plan or its hours is not under
 * way.
 */
export async function noteProgress(db: Queryable): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.campaign_progress w WHERE NOT EXISTS (
          SELECT 1 FROM campaign c WHERE c.customer_id = w.customer_id AND c.id = w.campaign_id
             AND c.status IN ('queued', 'sending') AND c.wait_kind IS NULL)`,
  );
  await db.execute(
    sql`INSERT INTO hot.campaign_progress AS w (customer_id, campaign_id, audience, open, expected_seconds)
        SELECT c.customer_id, c.id, coalesce(d.audience, 0), coalesce(d.open, 0), ${EXPECTED_SECONDS_MIN}
          FROM campaign c LEFT JOIN hot.delivery_counter d ON d.customer_id = c.customer_id AND d.source_kind = ${CAMPAIGN} AND d.source_id = c.id
         WHERE c.status IN ('queued', 'sending') AND c.wait_kind IS NULL
        ON CONFLICT (customer_id, campaign_id) DO UPDATE
           SET audience = excluded.audience, open = excluded.open, changed_at = now(), alarmed_at = NULL,
               expected_seconds = least(${EXPECTED_SECONDS_MAX}, greatest(${EXPECTED_SECONDS_MIN},
                 (w.expected_seconds + extract(epoch FROM now() - w.changed_at)) / 2))
         WHERE (w.audience, w.open) IS DISTINCT FROM (excluded.audience, excluded.open)`,
  );
}

/** Campaigns with a new alarm, or with one that is due to be repeated. */
export function stalledNow(db: Queryable): Promise<Stall[]> {
  return db.query(
    STALL_ROW,
    sql`SELECT w.customer_id AS "customerId", w.campaign_id AS "campaignId", c.uid, c.snapshot_on::text AS "snapshotOn", w.changed_at AS since
          FROM hot.campaign_progress w JOIN campaign c ON c.customer_id = w.customer_id AND c.id = w.campaign_id
         WHERE w.changed_at < now() - make_interval(secs => ${EXPECTED_TIMES_MAX} * w.expected_seconds)
           AND (w.alarmed_at IS NULL OR w.alarmed_at < now() - make_interval(secs => ${REPEAT_SECONDS}))`,
  );
}

const DUE_WORK_ROW = row({
  /** One due recipient, with the server's last reply. */
  due: typed<{ readonly reason: string | null; readonly reply: string | null }>('json?'),
  isUnderWay: 'bool',
  hasSnapshot: 'bool',
});
export type DueWork = RowOf<typeof DUE_WORK_ROW>;

export async function dueOf(db: Queryable, key: LedgerKey): Promise<DueWork | undefined> {
  const [row] = await db.query(
    DUE_WORK_ROW,
    sql`SELECT (SELECT json_build_object('reason', reason, 'reply', left(reply, 200)) FROM hot.delivery d
                 WHERE ${inLedger(key)} AND ((state = 'queued' AND (not_before IS NULL OR not_before <= now()))
                     OR (state IN ('leased', 'sending') AND lease_expires_at < now())) LIMIT 1) AS due,
               EXISTS (SELECT 1 FROM hot.delivery d WHERE ${inLedger(key)} AND state IN ('leased', 'sending') AND lease_expires_at >= now()) AS "isUnderWay",
               EXISTS (SELECT 1 FROM hot.delivery d WHERE ${inLedger(key)}) AS "hasSnapshot"`,
  );
  return row;
}

/** Retries and send times are still to come: checked again after the same time. */
export async function noteExcuse(db: Queryable, { customerId, campaignId }: CampaignKey): Promise<void> {
  await db.execute(
    sql`UPDATE hot.campaign_progress SET changed_at = now(), alarmed_at = NULL WHERE customer_id = ${customerId} AND campaign_id = ${campaignId}`,
  );
}

export async function noteAlarm(db: Queryable, { customerId, campaignId }: CampaignKey): Promise<void> {
  await db.execute(
    sql`UPDATE hot.campaign_progress SET alarmed_at = now() WHERE customer_id = ${customerId} AND campaign_id = ${campaignId}`,
  );
}
