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
