/** Jobs of webhooks. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Mails the owner that a webhook was paused. */
export const pausedWebhookMailJob = defineJob({
  name: 'webhooks.paused_mail',
  payload: z.object({ customerId: z.string(), webhookId: z.string() }),
  // The queue waits longer each time: over an hour in all.
  attemptsMax: 10,
});

const id = z.coerce.bigint();

/** What waits to be sent follows its webhook, which has changed. */
export const moveWaitingJob = defineJob({
  name: 'webhooks.move-waiting',
  payload: z.object({ customerId: id, webhookId: id }),
  // What it does not move is seen when it is sent.
  attemptsMax: 25,
  isLong: true,
});
