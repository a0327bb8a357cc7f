/** The clock's job for subscriptions. */
import { renewSubscriptions } from '../../domain/billing/renew-subscriptions.ts';
import { renewSubscriptionsJob } from '../../jobs/billing-jobs.ts';
import { defineTask } from '../task.ts';

export const renewSubscriptionsTask = defineTask(renewSubscriptionsJob, async (ctx) => {
  const { moved, failed } = await renewSubscriptions(ctx);
  if (moved + failed > 0) ctx.log.info('billing.subscriptions_moved', { moved, failed });
});
