/** Scheduled jobs: partitions ahead of time, campaigns without progress. */
import {
  dropPartitionsJob,
  makePartitionsJob,
  refreshReceivedJob,
  reviveCampaignsJob,
  wakeCampaignJob,
} from '../../jobs/campaign-jobs.ts';
import { deleteOldPlaces } from '../../domain/delivery/capped-message-store.ts';
import { dropPartitions } from '../../domain/delivery/ledger/drop-partitions.ts';
import { refreshCounts } from '../../domain/audience/segments/refresh-counts.ts';
import { makePartitions } from '../../domain/delivery/ledger/make-partitions.ts';
import { refreshReceived } from '../../domain/delivery/campaigns/refresh-received.ts';
import { decideUnknownOutcomes } from '../../domain/campaigns/decide-unknown-outcomes.ts';
import { reviveCampaigns } from '../../domain/campaigns/revive-campaigns.ts';
import { eraseOldContents } from '../../domain/messages/message-store.ts';
import { deleteOldHealth } from '../../domain/sending/routing/delete-old-health.ts';
import { eraseAsideActivity } from '../../domain/webhooks/webhook-activity-store.ts';
import { wakeCampaign, wakeCampaigns } from '../../domain/campaigns/wait-for-plan.ts';
import { defineTask } from '../task.ts';

export const makePartitionsTask = defineTask(makePartitionsJob, (ctx) => makePartitions(ctx));

export const dropPartitionsTask = defineTask(dropPartitionsJob, async (ctx) => {
  await deleteOldHealth(ctx.db);
  await eraseOldContents(ctx.db);
  await eraseAsideActivity(ctx.db);
  await deleteOldPlaces(ctx.db);
  await dropPartitions(ctx, ctx.installation.retention);
});

export const refreshReceivedTask = defineTask(refreshReceivedJob, async (ctx) => {
  // If one fails, the other still runs.
  await refreshReceived(ctx).finally(() => refreshCounts(ctx));
});

export const wakeCampaignTask = defineTask(wakeCampaignJob, wakeCampaign);

export const reviveCampaignsTask = defineTask(reviveCampaignsJob, async (ctx) => {
  await reviveCampaigns(ctx);
  await decideUnknownOutcomes(ctx);
  await wakeCampaigns(ctx);
});
