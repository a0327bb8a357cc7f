/** Jobs of sending domains and senders' addresses. */
import { z } from 'zod';
import { defineJob } from './define-job.ts';

const id = z.coerce.bigint();
/** The queue's own growing delay makes this about a day. */
const MAIL_ATTEMPTS_MAX = 12;

/** Checks the domains whose records are due. */
export const recheckDomainsJob = defineJob({
  name: 'sending.recheck-domains',
  payload: z.looseObject({}),
  attemptsMax: 1,
});

/** Mails a customer's users about a change of a domain. */
export const domainMailJob = defineJob({
  name: 'sending.domain-mail',
  payload: z.object({ customerId: id, domainId: id, notification: z.enum(['failing', 'lost', 'taken', 'back']) }),
  attemptsMax: MAIL_ATTEMPTS_MAX,
});

/** Sends the link that verifies a sender's address. */
export const addressMailJob = defineJob({
  name: 'sending.address-mail',
  payload: z.object({ customerId: id, addressId: id }),
  attemptsMax: MAIL_ATTEMPTS_MAX,
});
