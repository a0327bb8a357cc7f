/** Says `done` when, and only when, the plan is complete and the ledger balances with nothing open. */
import { sql } from '../../db/database.ts';
import { inTransaction, type Context } from '../context.ts';
import { countLedger, type LedgerBalance } from '../delivery/ledger-read-model.ts';
import { ledgerOfCampaign } from '../delivery/delivery.ts';
import { CAMPAIGN, ofSource, sourceOfCampaign } from '../statistics/source-read-model.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { moveCampaign } from './campaign-state.ts';
import { findCampaignById } from './campaign-store.ts';

/**
 * Finishes the campaign if it is finished; true when it now is `done`. May be called at any time, by anybody. Counts
 * the ledger only when the counters say that nothing is open, unless they are not to be trusted.
 */
export async function finishCampaign(
  ctx: Context,
  key: CampaignKey,
  { mayTrustCounters = true } = {},
): Promise<boolean> {
  if (mayTrustCounters && !(await looksFinished(ctx, key))) return false;
  return inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, key.customerId, key.campaignId, { lock: true });
    if (campaign?.status !== 'sending' || campaign.snapshotAt === null || campaign.snapshotOn === null) return false;
    const shown = await lockCounters(tx, key);
    const balance = await countLedger(tx.db, ledgerOfCampaign({ ...key, snapshotOn: campaign.snapshotOn }));
    const open = balance.queued + balance.leased + balance.sending;
    if (shown !== open) {
      // The counters and the ledger disagree: the ledger is the truth.
      tx.log.error('campaign.counters_wrong', { campaign: campaign.uid, shown, balance });
      await writeCounters(tx, key, balance);
    }
    if (open > 0) return false;
    await moveCampaign(tx.db, campaign, { from: ['sending'], to: 'done' });
    tx.log.info('campaign.done', { campaign: campaign.uid, ...balance });
    return true;
  });
}

/** The cheap question first: the counters. */
async function looksFinished(ctx: Context, { customerId, campaignId }: CampaignKey): Promise<boolean> {
  const rows = await ctx.db.query(
    sql`SELECT 1 FROM campaign c LEFT JOIN hot.delivery_counter d ON d.customer_id = c.customer_id AND d.source_kind = ${CAMPAIGN} AND d.source_id = c.id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId} AND c.status = 'sending' AND c.snapshot_at IS NOT NULL AND coalesce(d.open, 0) = 0`,
    'campaigns.looks-finished',
  );
  return rows.length > 0;
}

/** Locks the counters, so that no outcome comes between counting and writing; answers how many they show as open. */
async function lockCounters(ctx: Context, key: CampaignKey): Promise<number> {
  const [row] = await ctx.db.query<{ open: number }>(
    sql`SELECT open FROM hot.delivery_counter c WHERE ${ofSource('c', sourceOfCampaign(key))} FOR UPDATE`,
  );
  return row?.open ?? 0;
}

async function writeCounters(ctx: Context, key: CampaignKey, balance: LedgerBalance): Promise<void> {
  await ctx.db.execute(
    sql`UPDATE hot.delivery_counter c SET audience = ${balance.audience}, open = ${balance.queued + balance.leased + balance.sending}, sent = ${balance.sent},
          failed = ${balance.failed}, skipped = ${balance.skipped}, suppressed = ${balance.suppressed}, unknown = ${balance.unknown}
        WHERE ${ofSource('c', sourceOfCampaign(key))}`,
  );
}
