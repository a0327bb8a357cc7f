/** Mails the owner that a webhook was paused. */
import { enqueuePausedWebhookMails } from '../../domain/delivery/system-mail.ts';
import { pausedWebhookMailJob } from '../../jobs/webhook-jobs.ts';
import { defineTask } from '../task.ts';

export const pausedWebhookMailTask = defineTask(pausedWebhookMailJob, (ctx, webhook, { jobId }) =>
  enqueuePausedWebhookMails(ctx, jobId, webhook),
);
