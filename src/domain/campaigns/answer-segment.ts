/**
 * Asks the plugins of a campaign's segment before its audience is planned, outside of transactions. All slices use these answers. While a
 * plugin does not answer the campaign waits as `queued`; after an hour it ends as `error`, with nobody in its ledger.
 */
import type { Queryable } from '../../db/database.ts';
import { databaseNow } from '../../db/now.ts';
import { snapshotAudienceJob } from '../../jobs/campaign-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { answersTo } from '../audience/segments/ask-plugins.ts';
import { questionsOf } from '../audience/segments/plugin-condition.ts';
import { UnavailableConditionError, type UnavailableCondition } from '../audience/segments/segment-errors.ts';
import { inTransaction, type Context } from '../context.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { moveCampaign, reportConditionWait } from './campaign-state-store.ts';
import { findCampaignById, keepAnswers } from './campaign-store.ts';
import type { Campaign } from './campaign.ts';

/** A plugin that cannot answer now is asked again after this time: not so often that it gets no rest. */
const WAIT_SECONDS = 60;
/** Whoever looks after the plugin has an hour; later the message may be too late. */
const WAIT_MINUTES_MAX = 60;

/** Whether the audience may be planned now. If not, a job tries again, or the campaign has ended or is not under way. */
export async function answerSegment(ctx: Context, key: CampaignKey, signal: AbortSignal): Promise<boolean> {
  const { customerId, campaignId } = key;
  const campaign = await findCampaignById(ctx.db, customerId, campaignId);
  const snapshot = campaign?.status === 'queued' ? campaign.segmentSnapshot : null;
  if (!campaign || !snapshot || snapshot.answers || questionsOf(snapshot.rule).size === 0) return true;
  const asking = { campaignId, asOf: new Date(snapshot.asOf), signal };
  try {
    const answers = await answersTo(ctx, { customerId, listId: campaign.listId, rule: snapshot.rule }, asking);
    // If not, another job has asked, or the campaign was started again, and has a job of its own.
    return await keepAnswers(ctx.db, campaign, { asOf: snapshot.asOf, answers });
  } catch (error) {
    if (!(error instanceof UnavailableConditionError)) throw error;
    // A process that stops has ended the plugin's work itself: the next one asks.
    if (!signal.aborted) await waitOrEnd(ctx, key, error.about);
    return false;
  }
}

async function waitOrEnd(ctx: Context, key: CampaignKey, about: UnavailableCondition): Promise<void> {
  await inTransaction(ctx, async ({ db }) => {
    const campaign = await findCampaignById(db, key.customerId, key.campaignId, { lock: true });
    if (campaign?.status !== 'queued' || !campaign.segmentSnapshot) return;
    const until = new Date(Date.parse(campaign.segmentSnapshot.asOf) + WAIT_MINUTES_MAX * 60_000);
    const params = { ...about, until: until.toISOString() };
    if ((await databaseNow(db)) >= until) return endUnanswered(db, campaign, about);
    await reportConditionWait(db, key, { code: 'segment_condition_waits', params });
    const payload = { customerId: String(key.customerId), campaignId: String(key.campaignId) };
    await enqueue(db, snapshotAudienceJob, payload, {
      delaySeconds: WAIT_SECONDS,
      key: `campaigns.plan:${key.campaignId}`,
    });
  });
}

async function endUnanswered(db: Queryable, campaign: Campaign, about: UnavailableCondition): Promise<void> {
  const reason = { code: 'segment_condition_unavailable', params: { ...about } } as const;
  await moveCampaign(db, campaign, { from: ['queued'], to: 'error', reason });
}

/** An answer is gone while the audience is planned: another one could make another audience, so the campaign is paused. */
export async function pauseWithoutAnswer(ctx: Context, key: CampaignKey, about: UnavailableCondition): Promise<void> {
  const reason = { code: 'segment_condition_unavailable', params: { ...about } } as const;
  const campaign = { customerId: key.customerId, id: key.campaignId };
  await moveCampaign(ctx.db, campaign, { from: ['queued', 'sending'], to: 'paused', reason });
}
