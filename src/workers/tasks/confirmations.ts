/** Jobs of double opt-in: the mail that asks, and the end of those who never answered. */
import { countryOf } from '../../domain/audience/countries.ts';
import { confirmationMail } from '../../domain/audience/confirmation-mail.ts';
import { confirmationRequest } from '../../domain/audience/confirmation.ts';
import { expirePending } from '../../domain/audience/expire-pending.ts';
import { sendTransactional } from '../../domain/delivery/send-transactional.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import { linkSignerOf } from '../../domain/tracking/link-signer.ts';
import { expirePendingJob, sendConfirmationJob } from '../../jobs/audience-jobs.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { defineTask, type Task } from '../task.ts';

/** The task, over the drivers that all jobs of this process share. */
export function sendConfirmationTask(drivers: DriverPool): Task {
  return defineTask(sendConfirmationJob, async (ctx, { customerId, listId, subscriberId, eventId }) => {
    const request = await confirmationRequest(ctx, { customerId, listId, id: subscriberId, eventId });
    if (!request) return;
    const { pendingUntil, contact } = request;
    const recipient = { customerId, listId, campaignId: 0n, subscriberId };
    await sendTransactional(ctx, drivers, {
      customerId,
      customerUid: request.customerUid,
      list: {
        uid: request.listUid,
        name: request.listName,
        contact: { ...contact, country: countryOf(contact.countryId)?.name ?? '' },
      },
      from: { name: request.fromName, email: request.fromEmail },
      to: { email: request.email, uid: subscriberUid(subscriberId), fields: {} },
      // Asked again is another mail; a job that is repeated is the same one.
      purpose: `confirmation ${eventId}`,
      ...confirmationMail(linkSignerOf(ctx.installation).confirmation(recipient, pendingUntil)),
    });
  });
}

export const expirePendingTask = defineTask(expirePendingJob, async (ctx) => {
  const expired = await expirePending(ctx);
  if (expired > 0) ctx.log.info('audience.pending_expired', { expired });
});
