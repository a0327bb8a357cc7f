/** Jobs of the clock: partitions ahead of time, campaigns that stand still. */
import { makePartitionsJob, reviveCampaignsJob, wakeCampaignJob } from '../../jobs/campaign-jobs.ts';
import { renumberTurns } from '../../jobs/turns.ts';
import { makePartitions } from '../../domain/delivery/make-partitions.ts';
import { decideDoubts } from '../../domain/campaigns/decide-doubts.ts';
import { reviveCampaigns } from '../../domain/campaigns/revive-campaigns.ts';
import { wakeCampaign, wakeCampaigns } from '../../domain/campaigns/wait-for-plan.ts';
import { defineTask } from '../task.ts';

export const makePartitionsTask = defineTask(makePartitionsJob, (ctx) => makePartitions(ctx));

export const wakeCampaignTask = defineTask(wakeCampaignJob, wakeCampaign);

export const reviveCampaignsTask = defineTask(reviveCampaignsJob, async (ctx) => {
  await reviveCampaigns(ctx);
  await decideDoubts(ctx);
  await wakeCampaigns(ctx);
  await renumberTurns(ctx.db);
});
