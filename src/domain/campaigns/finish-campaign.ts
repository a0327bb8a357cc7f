/** Sets `done` if and only if the snapshot is complete and the ledger balances with nothing open. */
import { inTransaction, type Context } from '../context.ts';
import { lockOpenCount, writeBalance } from '../delivery/ledger/delivery-counter-store.ts';
import { countLedger } from '../delivery/ledger/ledger-read-model.ts';
import { ledgerOfCampaign } from '../delivery/ledger/delivery.ts';
import { sourceOfCampaign } from '../statistics/source-read-model.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { looksFinished } from './campaign-read-model.ts';
import { findCampaignById } from './campaign-store.ts';

/**
 * Finishes the campaign if nothing is open; true when it is `done` now. May be called at any time. Counts the ledger only when
 * the counters say that nothing is open, unless they are not to be trusted.
 */
export async function finishCampaign(
  ctx: Context,
  key: CampaignKey,
  { mayTrustCounters = true } = {},
): Promise<boolean> {
  if (mayTrustCounters && !(await looksFinished(ctx.db, key))) return false;
  return inTransaction(ctx, async (tx) => {
    const campaign = await findCampaignById(tx.db, key.customerId, key.campaignId, { lock: true });
    if (campaign?.status !== 'sending' || campaign.snapshotAt === null || campaign.snapshotOn === null) return false;
    const shown = await lockOpenCount(tx.db, sourceOfCampaign(key));
    const balance = await countLedger(tx.db, ledgerOfCampaign({ ...key, snapshotOn: campaign.snapshotOn }));
    const open = balance.queued + balance.leased + balance.sending;
    if (shown !== open) {
      // The counters and the ledger disagree: the ledger is right.
      tx.log.error('campaign.counters_wrong', { campaign: campaign.uid, shown, balance });
      await writeBalance(tx.db, sourceOfCampaign(key), balance);
    }
    if (open > 0) return false;
    await moveCampaign(tx.db, campaign, { from: ['sending'], to: 'done' });
    tx.log.info('campaign.done', { campaign: campaign.uid, ...balance });
    return true;
  });
}
