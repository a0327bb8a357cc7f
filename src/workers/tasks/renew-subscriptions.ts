/** The scheduled job of subscriptions. */
import { renewSubscriptions } from '../../domain/billing/subscriptions/renew-subscriptions.ts';
import { renewSubscriptionsJob } from '../../jobs/billing-jobs.ts';
import { defineTask } from '../task.ts';

export const renewSubscriptionsTask = defineTask(renewSubscriptionsJob, (ctx) => renewSubscriptions(ctx));
