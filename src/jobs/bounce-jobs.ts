/** Jobs of bounces and complaints. Ids are bigints, written as strings in the queue's JSON. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** What a server said is in the ledger: an hour of tries outlasts a database that is away. */
const REFUSALS_ATTEMPTS_MAX = 10;

/** Looks at refusals of one batch for mailboxes that are gone. */
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

/** Puts a job for each bounce mailbox that is due into the queue. */
export const pollBounceHandlersJob = defineJob({
  name: 'bounces.poll-handlers',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Reads one bounce mailbox, for as long as there is something in it. When it fails, the clock's next round tries again. */
export const pollBounceHandlerJob = defineJob({
  name: 'bounces.poll-handler',
  payload: z.object({ customerId: id, handlerId: id }),
  attemptsMax: 1,
  isLong: true,
});

/** Looks for the messages of a vendor's events that were not in the ledger yet. */
export const takeWebhookEventsJob = defineJob({
  name: 'bounces.take-webhook-events',
  payload: z.object({
    customerId: id,
    serverId: id,
    /** Milliseconds since 1970, by the database: the look-up ends some seconds later. */
    receivedAt: z.number(),
    events: z.array(z.unknown()),
  }),
  attemptsMax: 3,
});

/** Drops what is kept of bounces for a time only. */
export const sweepBouncesJob = defineJob({
  name: 'bounces.sweep',
  payload: z.looseObject({}),
  attemptsMax: 1,
});
