/** Jobs of bounces: replies of servers, events of vendors, and expired data. */
import { enqueuePolls } from '../../domain/bounces/enqueue-polls.ts';
import { pollBounceHandler } from '../../domain/bounces/poll-bounce-handler.ts';
import { recordRefusals } from '../../domain/bounces/record-refusals.ts';
import { dropOldVendorRequests } from '../../domain/bounces/vendor-request-store.ts';
import { dropOldWebhookEvents } from '../../domain/bounces/webhook-event-store.ts';
import { takeWebhookEvents } from '../../domain/bounces/webhook-events.ts';
import { dropOldSoftBounces } from '../../domain/tracking/bounce-policy-store.ts';
import {
  pollBounceHandlerJob,
  pollBounceHandlersJob,
  recordRefusalsJob,
  sweepBouncesJob,
  takeWebhookEventsJob,
} from '../../jobs/bounce-jobs.ts';
import { defineTask } from '../task.ts';

export const bounceTasks = [
  defineTask(recordRefusalsJob, recordRefusals),
  defineTask(takeWebhookEventsJob, takeWebhookEvents),
  defineTask(pollBounceHandlersJob, enqueuePolls),
  defineTask(pollBounceHandlerJob, (ctx, { customerId, handlerId }, { abortSignal }) =>
    pollBounceHandler(ctx, { customerId, id: handlerId }, abortSignal),
  ),
  defineTask(sweepBouncesJob, async (ctx) => {
    await dropOldWebhookEvents(ctx);
    await dropOldVendorRequests(ctx);
    await dropOldSoftBounces(ctx.db);
  }),
];
