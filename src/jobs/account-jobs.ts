/** Jobs of customers and of what accounts leave behind. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** A tenant that is gone to everybody must go from the tables as well: the queue tries for days. */
const ERASE_ATTEMPTS_MAX = 25;
const PAUSE_ATTEMPTS_MAX = 15;

/** Erases everything of a customer that was deleted, slice by slice. */
export const eraseCustomerJob = defineJob({
  name: 'accounts.erase-customer',
  payload: z.object({ customerId: id }),
  attemptsMax: ERASE_ATTEMPTS_MAX,
  isLong: true,
});

/** Erases what deleted lists and campaigns had gathered, slice by slice. */
export const eraseDeletedJob = defineJob({
  name: 'accounts.erase-deleted',
  payload: z.looseObject({}),
  attemptsMax: ERASE_ATTEMPTS_MAX,
  isLong: true,
});

/** One for all deletions: it ends when nothing is left to erase but what has failed. */
export const ERASE_DELETED_KEY = 'erase-deleted';
/** Of the job that tries failed deletions again: its later time must not replace the time of a new deletion's job. */
export const ERASE_FAILED_KEY = 'erase-deleted.failed';

/** Pauses what a customer has under way, when it was disabled. */
export const pauseCustomerCampaignsJob = defineJob({
  name: 'campaigns.pause-of-customer',
  payload: z.object({ customerId: id }),
  attemptsMax: PAUSE_ATTEMPTS_MAX,
});

/** Drops what has ended: sessions, login tokens and links, and the oldest of the audit trail. */
export const sweepAccountsJob = defineJob({
  name: 'accounts.sweep',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Drops what is kept of requests for a time only: counts that ended, answers of calls with an Idempotency-Key. */
export const sweepRequestsJob = defineJob({
  name: 'accounts.sweep-requests',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
