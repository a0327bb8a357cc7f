/** Jobs of plans and money. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Moves every subscription whose time has come: renewals, ends. The clock's next round repeats what failed. */
export const renewSubscriptionsJob = defineJob({
  name: 'billing.renew-subscriptions',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
