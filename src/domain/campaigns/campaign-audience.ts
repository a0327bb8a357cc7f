/** A campaign to nobody is not started (decision D56). */
import { findMailable } from '../audience/mailable-read-model.ts';
import { ruleOfSegment } from '../audience/segments/segment-store.ts';
import type { TransactionContext } from '../context.ts';
import { plannedCount } from '../delivery/ledger/delivery-counter-store.ts';
import { sourceOfCampaign } from '../statistics/source-read-model.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { moveCampaign } from './campaign-state-store.ts';
import { restartSnapshot } from './campaign-store.ts';
import type { Campaign } from './campaign.ts';
import type { AudienceFault } from './send-fault.ts';

/**
 * The fault of a campaign that nobody would get now; undefined when somebody would, or when that cannot be known without reading a
 * large list: the audience snapshot decides then (`endWithoutAudience`).
 */
export async function audienceFault(
  { db }: TransactionContext,
  { customerId, id, listId, segmentId }: Campaign,
): Promise<AudienceFault | undefined> {
  const rule = segmentId === null ? undefined : await ruleOfSegment(db, { customerId, id: segmentId });
  const found = await findMailable(db, { customerId, listId, rule, exceptCampaignId: id });
  return found === 'nobody' ? { code: 'no_audience', params: { of: rule ? 'segment' : 'list' } } : undefined;
}

/** After the whole snapshot: a campaign with nobody in its ledger ends as `error`, and may be run again. True when it did. */
export async function endWithoutAudience({ db }: TransactionContext, campaign: Campaign): Promise<boolean> {
  const key: CampaignKey = { customerId: campaign.customerId, campaignId: campaign.id };
  if ((await plannedCount(db, sourceOfCampaign(key))) > 0) return false;
  await restartSnapshot(db, campaign);
  const of = campaign.segmentSnapshot ? 'segment' : 'list';
  const reason = { code: 'no_audience', params: { of } } as const;
  return moveCampaign(db, campaign, { from: ['queued', 'sending'], to: 'error', reason });
}
