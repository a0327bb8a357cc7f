/** Jobs of customers and of expired data of accounts. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** A deleted tenant must also go from the tables: the queue tries for days. */
const ERASE_ATTEMPTS_MAX = 25;
const PAUSE_ATTEMPTS_MAX = 15;

/** Erases everything of a customer that was deleted, slice by slice. */
export const eraseCustomerJob = defineJob({
  name: 'accounts.erase-customer',
  payload: z.object({ customerId: id }),
  attemptsMax: ERASE_ATTEMPTS_MAX,
  isLong: true,
});

/** Erases the data of deleted lists and campaigns, slice by slice. */
export const eraseDeletedJob = defineJob({
  name: 'accounts.erase-deleted',
  payload: z.looseObject({}),
  attemptsMax: ERASE_ATTEMPTS_MAX,
  isLong: true,
});

/** One job for all deletions: it ends when only failed ones are left. */
export const ERASE_DELETED_KEY = 'erase-deleted';
/** Key of the job that tries failed deletions again: its later time must not replace the time of a new deletion's job. */
export const ERASE_FAILED_KEY = 'erase-deleted.failed';

/** Pauses the campaigns of a customer that was disabled. */
export const pauseCustomerCampaignsJob = defineJob({
  name: 'campaigns.pause-of-customer',
  payload: z.object({ customerId: id }),
  attemptsMax: PAUSE_ATTEMPTS_MAX,
});

/** Deletes expired sessions, login tokens and links, and the oldest rows of the audit trail. */
export const sweepAccountsJob = defineJob({
  name: 'accounts.sweep',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Deletes expired data of requests: counts, and answers of calls with an Idempotency-Key. */
export const sweepRequestsJob = defineJob({
  name: 'accounts.sweep-requests',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
