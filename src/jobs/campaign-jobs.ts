/** Jobs of campaigns and their delivery. Ids are bigints, written as strings in the queue's JSON. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** The queue retries for about a day; what a campaign still owes is in the ledger and is found again anyway. */
const ATTEMPTS_MAX = 15;

/** Puts the audience into the ledger, slice by slice. */
export const snapshotAudienceJob = defineJob({
  name: 'campaigns.plan',
  payload: z.object({ customerId: id, campaignId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Starts a scheduled campaign when its time has come. */
export const startScheduledCampaignJob = defineJob({
  name: 'campaigns.start-scheduled',
  payload: z.object({ customerId: id, campaignId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Sends what is due among the recipients of one range of subscriber ids, both ends included. */
export const sendBatchJob = defineJob({
  name: 'delivery.send-batch',
  payload: z.object({ customerId: id, campaignId: id, fromId: id, toId: id }),
  attemptsMax: ATTEMPTS_MAX,
  isFairlyQueued: true,
});

/** Lets a campaign go on that waited for credits or quota of its customer's plan. */
export const wakeCampaignJob = defineJob({
  name: 'campaigns.wake',
  payload: z.object({ customerId: id, campaignId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Sends tests of a campaign's message. A test is wanted now or not at all. */
export const sendTestMessagesJob = defineJob({
  name: 'campaigns.send-tests',
  payload: z.object({ customerId: id, campaignId: id, testIds: z.array(id) }),
  attemptsMax: 4,
});

/** Composes everything of a campaign and sends nothing. */
export const dryRunJob = defineJob({
  name: 'campaigns.dry-run',
  payload: z.object({ customerId: id, dryRunId: id }),
  attemptsMax: 5,
  isLong: true,
});

/** Sends to those of a campaign whose moment has come: by their own clocks, or after quiet hours. */
export const sendAtTimeJob = defineJob({
  name: 'campaigns.send-time',
  payload: z.object({ customerId: id, campaignId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Looks for campaigns that are under way but have no job any more, and gives them new ones. */
export const reviveCampaignsJob = defineJob({
  name: 'campaigns.revive',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Keeps who received the campaigns that were sent, and how often people opened and clicked, for segments. */
export const refreshReceivedJob = defineJob({
  name: 'delivery.refresh-received',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Drops the months that the operator does not keep. */
export const dropPartitionsJob = defineJob({
  name: 'maintenance.drop-partitions',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Makes the months' partitions ahead of time. */
export const makePartitionsJob = defineJob({
  name: 'maintenance.make-partitions',
  payload: z.looseObject({}),
  attemptsMax: 5,
});
