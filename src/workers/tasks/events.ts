/** Scheduled job of the event record. */
import { sweepEvents } from '../../events/sweep-events.ts';
import { sweepEventsJob } from '../../jobs/event-jobs.ts';
import { defineTask } from '../task.ts';

export const sweepEventsTask = defineTask(sweepEventsJob, (ctx) => sweepEvents(ctx, ctx.installation.eventDays));
