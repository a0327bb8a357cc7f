/** Jobs of campaigns and their delivery. Ids are bigints, written as strings in the queue's JSON. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** The queue retries for about a day; open deliveries are in the ledger and are found again anyway. */
const ATTEMPTS_MAX = 15;

/** Writes the audience to the ledger, slice by slice. */
export const snapshotAudienceJob = defineJob({
  name: 'campaigns.plan',
  payload: z.object({ customerId: id, campaignId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Starts a scheduled campaign at its time. */
export const startScheduledCampaignJob = defineJob({
  name: 'campaigns.start-scheduled',
  payload: z.object({ customerId: id, campaignId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Sends the due deliveries in one range of subscriber ids, both ends included. */
export const sendBatchJob = defineJob({
  name: 'delivery.send-batch',
  payload: z.object({ customerId: id, campaignId: id, fromId: id, toId: id }),
  attemptsMax: ATTEMPTS_MAX,
  isFairlyQueued: true,
});

/** Continues a campaign that waited for credits or quota of its customer's plan. */
export const wakeCampaignJob = defineJob({
  name: 'campaigns.wake',
  payload: z.object({ customerId: id, campaignId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Sends tests of a campaign's message. A late test is useless, so there are few retries. */
export const sendTestMessagesJob = defineJob({
  name: 'campaigns.send-tests',
  payload: z.object({ customerId: id, campaignId: id, testIds: z.array(id) }),
  attemptsMax: 4,
});

/** Composes all messages of a campaign and sends none. */
export const dryRunJob = defineJob({
  name: 'campaigns.dry-run',
  payload: z.object({ customerId: id, dryRunId: id }),
  attemptsMax: 5,
  isLong: true,
});

/** Sends to the recipients of a campaign whose send time has come: local times, or the end of quiet hours. */
export const sendAtTimeJob = defineJob({
  name: 'campaigns.send-time',
  payload: z.object({ customerId: id, campaignId: id }),
  attemptsMax: ATTEMPTS_MAX,
});

/** Gives new jobs to campaigns that are under way and have none. */
export const reviveCampaignsJob = defineJob({
  name: 'campaigns.revive',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Updates, for segments, who received which campaigns, and how often people opened and clicked. */
export const refreshReceivedJob = defineJob({
  name: 'delivery.refresh-received',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Drops months that are older than the operator keeps. */
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
