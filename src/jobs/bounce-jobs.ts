/** Jobs of bounces and complaints. Ids are bigints, written as strings in the queue's JSON. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** The replies are in the ledger: tries for an hour, in case the database is away. */
const REFUSALS_ATTEMPTS_MAX = 10;

/** Checks the refusals of one batch for mailboxes that do not exist. */
export const recordRefusalsJob = defineJob({
  name: 'bounces.record-refusals',
  payload: z.object({
    customerId: id,
    sourceKind: z.int(),
    sourceId: id,
    messages: z.array(z.object({ recipientId: id, occurrence: id })),
  }),
  attemptsMax: REFUSALS_ATTEMPTS_MAX,
});

/** Enqueues a job for each bounce mailbox that is due. */
export const pollBounceHandlersJob = defineJob({
  name: 'bounces.poll-handlers',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Reads one bounce mailbox until it is empty. After a failure the next scheduled run tries again. */
export const pollBounceHandlerJob = defineJob({
  name: 'bounces.poll-handler',
  payload: z.object({ customerId: id, handlerId: id }),
  attemptsMax: 1,
  isLong: true,
});

/** Finds the messages of a vendor's events that were not in the ledger yet. */
export const takeWebhookEventsJob = defineJob({
  name: 'bounces.take-webhook-events',
  payload: z.object({
    customerId: id,
    serverId: id,
    /** Milliseconds since 1970 by the database's clock; the look-up stops some seconds later. */
    receivedAt: z.number(),
    events: z.array(z.unknown()),
  }),
  attemptsMax: 3,
});

/** The queue's own growing delay makes this about a day. */
const POSTMASTER_ATTEMPTS_MAX = 12;

/** Mails the administrators what somebody wrote to the postmaster of a bounce domain. */
export const postmasterMailJob = defineJob({
  name: 'bounces.postmaster-mail',
  payload: z.object({ id: z.string(), from: z.string(), subject: z.string(), text: z.string() }),
  attemptsMax: POSTMASTER_ATTEMPTS_MAX,
});

/** Deletes expired data of bounces. */
export const sweepBouncesJob = defineJob({
  name: 'bounces.sweep',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
