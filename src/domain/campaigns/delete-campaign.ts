/** Deletes a campaign with all its data: it is invisible at once; a job erases its ledger and events (decision record 0031). */
import { ERASE_DELETED_KEY, eraseDeletedJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { keepSentCount } from '../audience/list-counter-store.ts';
import { inTransaction, type Context } from '../context.ts';
import { readCampaignStatistics } from '../statistics/campaign-statistics-read-model.ts';
import { wrongCampaignState } from './campaign-errors.ts';
import { eraseCampaign } from './campaign-store.ts';
import { UNDER_WAY } from './campaign-state-store.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

/** Erases the viewer's campaign. Throws CAMPAIGN_WRONG_STATE while it is in progress, CAMPAIGN_NOT_FOUND. */
export async function deleteCampaign(ctx: Context, uid: string): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, uid, { lock: true });
    if (UNDER_WAY.includes(campaign.status)) throw wrongCampaignState('deleted', campaign.status);
    const { customerId, listId } = campaign;
    const [figures] = await readCampaignStatistics(tx, [{ customerId, campaignId: campaign.id }]);
    await eraseCampaign(tx.db, campaign);
    await enqueue(tx.db, eraseDeletedJob, {}, { key: ERASE_DELETED_KEY });
    await keepSentCount(tx.db, { customerId, listId, sent: figures?.sentCount ?? 0 });
    return { uid: campaign.uid };
  });
}
