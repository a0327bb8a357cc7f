/** Jobs of the mails that lists send by themselves: to the people on them, and to their owners. */
import { contactOf, tagsOf, type MailSender } from '../../domain/audience/mails/compile-list-mail.ts';
import type { ListMail } from '../../domain/audience/mails/list-mail.ts';
import {
  forgetOldConfirmations,
  personMail,
  type PersonMail,
  type PersonMailCause,
} from '../../domain/audience/mails/person-mail.ts';
import { endUnsubscribeDigest, unsubscribeDigest } from '../../domain/audience/mails/unsubscribe-notices.ts';
import { expirePending } from '../../domain/audience/expire-pending.ts';
import { forgetOldSignUps } from '../../domain/audience/sign-up.ts';
import type { Context } from '../../domain/context.ts';
import { sendTransactional } from '../../domain/delivery/send-transactional.ts';
import type { DriverPool } from '../../domain/sending/driver-pool.ts';
import { linkAddressFor } from '../../domain/sending/identity.ts';
import { linkSignerOf } from '../../domain/tracking/link-signer.ts';
import {
  expirePendingJob,
  notifyUnsubscribesJob,
  sendConfirmationJob,
  sendListMailJob,
} from '../../jobs/audience-jobs.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { defineTask, type Task } from '../task.ts';

/** The tasks, over the drivers that all jobs of this process share. */
export function listMailTasks(drivers: DriverPool): Task[] {
  return [
    defineTask(sendConfirmationJob, (ctx, { subscriberId: id, ...cause }) =>
      sendPersonMail(ctx, drivers, { ...cause, id, kind: 'confirmation' }),
    ),
    defineTask(sendListMailJob, (ctx, { subscriberId: id, ...cause }) =>
      sendPersonMail(ctx, drivers, { ...cause, id }),
    ),
    defineTask(notifyUnsubscribesJob, (ctx, { customerId, listId }) =>
      tellOwner(ctx, drivers, { customerId, id: listId }),
    ),
  ];
}

async function sendPersonMail(ctx: Context, drivers: DriverPool, cause: PersonMailCause): Promise<void> {
  const found = await personMail(ctx, cause);
  if (!found) return;
  const { customerId, id, kind, eventId } = cause;
  await sendTransactional(ctx, drivers, {
    customerId,
    ...messageOf(found.sender, found.mail),
    to: { email: found.email, uid: subscriberUid(id), fields: found.fields },
    links: await linksOf(ctx, cause, found),
    isToMember: kind === 'welcome',
    // Asked again is another mail; a job that is repeated is the same one.
    purpose: `${kind} ${eventId}`,
  });
}

async function tellOwner(
  ctx: Context,
  drivers: DriverPool,
  list: { readonly customerId: bigint; readonly id: bigint },
): Promise<void> {
  const digest = await unsubscribeDigest(ctx, list);
  if (!digest) return;
  const { lastId, count, people, to, sender, mail } = digest;
  await sendTransactional(ctx, drivers, {
    customerId: list.customerId,
    ...messageOf(sender, mail),
    to: { email: to, uid: sender.list.uid, fields: { UNSUBSCRIBE_COUNT: count, UNSUBSCRIBED_PEOPLE: people } },
    purpose: `unsubscribes ${lastId}`,
  });
  await endUnsubscribeDigest(ctx, list, lastId);
}

function messageOf(sender: MailSender, mail: ListMail) {
  return {
    customerUid: sender.customerUid,
    list: { ...sender.list, contact: contactOf(sender) },
    from: sender.from,
    ...{ subject: mail.subject, html: mail.html, plain: mail.plain === '' ? null : mail.plain },
    fieldDefaults: tagsOf(mail.kind, sender),
  };
}

/** Links that belong to no campaign; the one that confirms only where there is something to confirm. */
async function linksOf(
  ctx: Context,
  { customerId, listId, id }: PersonMailCause,
  { pendingUntil, sender }: PersonMail,
) {
  const at = await linkAddressFor(ctx.db, { customerId, fromEmail: sender.from.email });
  const recipient = { customerId, listId, campaignId: 0n, subscriberId: id };
  const signer = linkSignerOf(ctx.installation);
  const links = signer.forRecipient(recipient, at);
  return {
    unsubscribe: () => links.unsubscribe(),
    updateProfile: () => links.updateProfile(),
    ...(pendingUntil ? { confirm: () => signer.confirmation(recipient, pendingUntil, at) } : {}),
  };
}

export const expirePendingTask = defineTask(expirePendingJob, async (ctx) => {
  const expired = await expirePending(ctx);
  if (expired > 0) ctx.log.info('audience.pending_expired', { expired });
  await forgetOldConfirmations(ctx.db);
  await forgetOldSignUps(ctx.db);
});
