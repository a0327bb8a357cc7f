/**
 * Watches campaigns that are under way: one that has something to send and does not get on for three times as long as
 * it usually takes to the next step, and waits for nothing that comes by itself (campaign-wait.ts), is an alarm, in the
 * log and in its `status_reason`. Every process watches, those that only serve too: when all workers are dead nobody
 * else would notice.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { inTransaction, type Context } from '../context.ts';
import { clearStalls, reportStall } from './campaign-state.ts';
import { campaignWaits } from './campaign-wait.ts';
import { ledgerOfCampaign } from '../delivery/delivery.ts';
import { inLedger } from '../delivery/ledger-read-model.ts';
import { CAMPAIGN } from '../statistics/source-read-model.ts';
import { reasonText, type StallCause } from './status-reason.ts';

/** Nothing is expected sooner: servers wait, retries wait, workers are replaced. */
const EXPECTED_SECONDS_MIN = 60;
/** Beyond this, habits say nothing any more: a campaign at one message an hour is still alarming after a day. */
const EXPECTED_SECONDS_MAX = 28_800;
const EXPECTED_TIMES_MAX = 3;
/** An alarm that goes on is repeated for those who look at the latest lines only. */
const REPEAT_SECONDS = 3_600;

interface Stall {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly uid: string;
  readonly snapshotOn: string | null;
  readonly since: Date;
}

/** Looks once, unless another process is looking. Answers the campaigns that have just become an alarm. */
export async function watchProgress(ctx: Context): Promise<string[]> {
  return inTransaction(ctx, async ({ db, log }) => {
    const [lock] = await db.query<{ isMine: boolean }>(
      sql`SELECT pg_try_advisory_xact_lock(hashtextextended('mailwright:watch', 0)) AS "isMine"`,
    );
    if (!lock?.isMine) return [];
    await note(db);
    const alarms: string[] = [];
    const stalled = await stalls(db);
    const waits = stalled.length > 0 ? await campaignWaits(db, stalled) : [];
    for (const [index, stall] of stalled.entries()) {
      const wait = waits[index];
      const cause = wait?.isInOrder ? undefined : (wait?.reason ?? (await causeOf(db, stall)));
      if (cause === undefined) {
        await excuse(db, stall);
        continue;
      }
      await alarm(db, stall, cause);
      log.error('campaign.stalled', { campaign: stall.uid, since: stall.since, cause: reasonText(cause) });
      alarms.push(stall.uid);
    }
    return alarms;
  });
}

/** Campaigns that are stalled now, for administrators. */
export function stalledCampaigns(db: Queryable): Promise<{ uid: string; since: Date }[]> {
  return db.query<{ uid: string; since: Date }>(
    sql`SELECT c.uid, w.changed_at AS since FROM hot.campaign_progress w
          JOIN campaign c ON c.customer_id = w.customer_id AND c.id = w.campaign_id
         WHERE w.alarmed_at IS NOT NULL ORDER BY w.changed_at LIMIT 1000`,
  );
}

/** Writes down who got on, and forgets who is not under way. A campaign that waits for its plan or its hours is not. */
async function note(db: Queryable): Promise<void> {
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
  await clearStalls(db);
}

function stalls(db: Queryable): Promise<Stall[]> {
  return db.query<Stall & Record<string, unknown>>(
    sql`SELECT w.customer_id AS "customerId", w.campaign_id AS "campaignId", c.uid, c.snapshot_on::text AS "snapshotOn", w.changed_at AS since
          FROM hot.campaign_progress w JOIN campaign c ON c.customer_id = w.customer_id AND c.id = w.campaign_id
         WHERE w.changed_at < now() - make_interval(secs => ${EXPECTED_TIMES_MAX} * w.expected_seconds)
           AND (w.alarmed_at IS NULL OR w.alarmed_at < now() - make_interval(secs => ${REPEAT_SECONDS}))`,
  );
}

/** What is in the way of one who is due; undefined: nobody is due, and then there is nothing to wait for. */
async function causeOf(db: Queryable, { customerId, campaignId, snapshotOn }: Stall): Promise<StallCause | undefined> {
  if (snapshotOn === null) return { code: 'not_planned', params: {} };
  const key = ledgerOfCampaign({ customerId, campaignId, snapshotOn });
  interface Rows extends Record<string, unknown> {
    due: { reason: string | null; reply: string | null } | null;
    isUnderWay: boolean;
    hasSnapshot: boolean;
  }
  const [row] = await db.query<Rows>(
    sql`SELECT (SELECT json_build_object('reason', reason, 'reply', left(reply, 200)) FROM hot.delivery d
                 WHERE ${inLedger(key)} AND ((state = 'queued' AND (not_before IS NULL OR not_before <= now()))
                     OR (state IN ('leased', 'sending') AND lease_expires_at < now())) LIMIT 1) AS due,
               EXISTS (SELECT 1 FROM hot.delivery d WHERE ${inLedger(key)} AND state IN ('leased', 'sending') AND lease_expires_at >= now()) AS "isUnderWay",
               EXISTS (SELECT 1 FROM hot.delivery d WHERE ${inLedger(key)}) AS "hasSnapshot"`,
  );
  if (!row?.hasSnapshot) return { code: 'not_planned', params: {} };
  if (!row.due) return undefined;
  const { reason, reply } = row.due;
  if (reason !== null) return { code: 'delivery', params: { reason, reply } };
  return { code: row.isUnderWay ? 'server_silent' : 'not_taken_up', params: { reply } };
}

/** Retries and hours that are still to come: looked at again after as long. */
async function excuse(db: Queryable, { customerId, campaignId }: Stall): Promise<void> {
  await db.execute(
    sql`UPDATE hot.campaign_progress SET changed_at = now(), alarmed_at = NULL WHERE customer_id = ${customerId} AND campaign_id = ${campaignId}`,
  );
}

async function alarm(db: Queryable, { customerId, campaignId, since }: Stall, cause: StallCause): Promise<void> {
  await db.execute(
    sql`UPDATE hot.campaign_progress SET alarmed_at = now() WHERE customer_id = ${customerId} AND campaign_id = ${campaignId}`,
  );
  await reportStall(db, { customerId, campaignId }, { code: 'stalled', params: { since: since.toISOString(), cause } });
}
