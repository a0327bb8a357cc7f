/** Jobs of lists and the people on them. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();

/** About a day with the queue's growing delay: a sending server that is down for a night loses no confirmation. */
const CONFIRMATION_ATTEMPTS_MAX = 15;

/** Sends the mail that asks a pending subscriber to confirm; the event in the consent history is its cause. */
export const sendConfirmationJob = defineJob({
  name: 'audience.send-confirmation',
  payload: z.object({ customerId: id, listId: id, subscriberId: id, eventId: id }),
  attemptsMax: CONFIRMATION_ATTEMPTS_MAX,
});

/** Changes people whose confirmation link has expired to `unconfirmed`. */
export const expirePendingJob = defineJob({
  name: 'audience.expire-pending',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Sends a mail about a change of a subscription; the event in the consent history is its cause. */
export const sendListMailJob = defineJob({
  name: 'audience.send-list-mail',
  payload: z.object({
    ...{ customerId: id, listId: id, subscriberId: id, eventId: id },
    kind: z.enum(['confirmation', 'welcome', 'goodbye']),
  }),
  attemptsMax: CONFIRMATION_ATTEMPTS_MAX,
});

/** Notifies a list's owner of unsubscribes. */
export const notifyUnsubscribesJob = defineJob({
  name: 'audience.notify-unsubscribes',
  payload: z.object({ customerId: id, listId: id }),
  attemptsMax: CONFIRMATION_ATTEMPTS_MAX,
});

/** Erases the traces of one person; failures are tried again for days, because erasing was promised. */
export const erasePersonJob = defineJob({
  name: 'audience.erase-person',
  payload: z.object({ customerId: id, erasureId: id }),
  attemptsMax: 25,
});

/** Removes people's values of a removed field, slice by slice; it is tried for days, because the tag stays taken until then. */
export const removeFieldValuesJob = defineJob({
  name: 'audience.remove-field-values',
  payload: z.object({ customerId: id, listId: id, tag: z.string() }),
  attemptsMax: 25,
  isLong: true,
});

/** Looks again at mails that quiet hours or a frequency cap hold back, since these were changed; without a list, at those of all of the customer's. */
export const freeHeldMailsJob = defineJob({
  name: 'audience.free-held-mails',
  payload: z.object({ customerId: id, listId: id.nullable() }),
  attemptsMax: 25,
  isLong: true,
});
