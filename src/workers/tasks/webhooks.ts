/** Jobs of webhooks: mails to the owner that one was paused, and what waits for one that has changed. */
import { enqueuePausedWebhookMails } from '../../domain/delivery/messages/system-mail.ts';
import { moveRest } from '../../domain/webhooks/move-waiting.ts';
import { moveWaitingJob, pausedWebhookMailJob } from '../../jobs/webhook-jobs.ts';
import { defineTask, type Task } from '../task.ts';

export const webhookTasks: readonly Task[] = [
  defineTask(pausedWebhookMailJob, (ctx, webhook, { jobId }) => enqueuePausedWebhookMails(ctx, jobId, webhook)),
  defineTask(moveWaitingJob, (ctx, { customerId, webhookId }, { abortSignal }) =>
    moveRest(ctx, { customerId, id: webhookId }, () => abortSignal.aborted),
  ),
];
