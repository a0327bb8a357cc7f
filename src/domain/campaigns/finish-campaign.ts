/** Says `done` when, and only when, the plan is complete and the ledger balances with nothing open. */
import { sql } from '../../db/database.ts';
import { inTransaction, type Context } from '../context.ts';
import { countLedger, type LedgerBalance } from '../delivery/ledger-read-model.ts';
import { findCampaignById, moveCampaign } from './campaign-store.ts';

/** Finishes the campaign if it is finished; true when it now is `done`. May be called at any time, by anybody. */
export async function finishCampaign(ctx: Context, key: { customerId: bigint; campaignId: bigint }): Promise<boolean> {
  if (!(await looksFinished(ctx, key))) return false;
  return inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, key.customerId, key.campaignId, { lock: true });
    if (campaign?.status !== 'sending' || campaign.plannedAt === null || campaign.plannedOn === null) return false;
    const balance = await countLedger(tx.db, { ...key, plannedOn: campaign.plannedOn });
    if (balance.queued + balance.leased + balance.sending > 0) {
      // The counters said that nothing is open and the ledger disagrees: the ledger is the truth.
      tx.log.error('campaign.counters_wrong', { campaign: campaign.uid, balance });
      await writeCounters(tx, key, balance);
      return false;
    }
    await moveCampaign(tx.db, { campaign, from: ['sending'], to: 'done' });
    tx.log.info('campaign.done', { campaign: campaign.uid, ...balance });
    return true;
  });
}

/** The cheap question first: the counters. */
async function looksFinished(ctx: Context, { customerId, campaignId }: { customerId: bigint; campaignId: bigint }): Promise<boolean> {
  const rows = await ctx.db.query(
    sql`SELECT 1 FROM campaign c LEFT JOIN hot.delivery_counter d ON d.customer_id = c.customer_id AND d.campaign_id = c.id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId} AND c.status = 'sending' AND c.planned_at IS NOT NULL AND coalesce(d.open, 0) = 0`,
    'campaigns.looks-finished',
  );
  return rows.length > 0;
}

async function writeCounters(ctx: Context, { customerId, campaignId }: { customerId: bigint; campaignId: bigint }, balance: LedgerBalance): Promise<void> {
  await ctx.db.execute(
    sql`UPDATE hot.delivery_counter SET audience = ${balance.audience}, open = ${balance.queued + balance.leased + balance.sending}, sent = ${balance.sent},
          failed = ${balance.failed}, skipped = ${balance.skipped}, suppressed = ${balance.suppressed}, unknown = ${balance.unknown}
        WHERE customer_id = ${customerId} AND campaign_id = ${campaignId}`,
  );
}
