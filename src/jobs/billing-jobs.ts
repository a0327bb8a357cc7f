/** Jobs of plans and money. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Processes every subscription that is due: renewals, ends. What failed is repeated at the next scheduled run. */
export const renewSubscriptionsJob = defineJob({
  name: 'billing.renew-subscriptions',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
