/** Sends the mails that lists send automatically: to the people on them, and to their owners. */
import { subscriberUid } from '../../lib/ids.ts';
import { contactOf, tagsOf } from '../audience/mails/compile-list-mail.ts';
import type { MailSender } from '../audience/mails/mail-sender-read-model.ts';
import type { ListMail } from '../audience/mails/list-mail.ts';
import { personMail, type PersonMail, type PersonMailCause } from '../audience/mails/person-mail.ts';
import { endUnsubscribeDigest, unsubscribeDigest } from '../audience/mails/unsubscribe-notices.ts';
import { hasRunningPlan } from '../billing/require-allowed.ts';
import type { Context } from '../context.ts';
import type { DriverPool } from '../sending/driver-pool.ts';
import { mailHostsFor } from '../sending/identity.ts';
import { linkSignerOf } from '../tracking/link-signer.ts';
import { recipientOfCampaign } from '../tracking/tracking.ts';
import { sendTransactional } from './send-transactional.ts';

/** Sends the person the mail, if it is still wanted and the customer may send (D55). Throws what sending throws. */
export async function sendPersonMail(ctx: Context, drivers: DriverPool, cause: PersonMailCause): Promise<void> {
  if (!(await hasRunningPlan(ctx.db, cause.customerId))) return;
  const found = await personMail(ctx, cause);
  if (!found) return;
  const { customerId, id, kind, eventId } = cause;
  await sendTransactional(ctx, drivers, {
    customerId,
    ...messageOf(found.sender, found.mail),
    to: { email: found.email, uid: subscriberUid(id), fields: found.fields },
    links: await linksOf(ctx, cause, found),
    isToMember: kind === 'welcome',
    // Asking again is another mail; a repeated job is the same one.
    purpose: `${kind} ${eventId}`,
  });
}

/** Sends the owner of the list the unsubscribes since the last digest, if any, and if the customer may send (D55). */
export async function sendUnsubscribeDigest(
  ctx: Context,
  drivers: DriverPool,
  list: { readonly customerId: bigint; readonly id: bigint },
): Promise<void> {
  if (!(await hasRunningPlan(ctx.db, list.customerId))) return;
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

/** Links that belong to no campaign; a confirmation link only if there is something to confirm. */
async function linksOf(
  ctx: Context,
  { customerId, listId, id }: PersonMailCause,
  { pendingUntil, sender }: PersonMail,
) {
  const hosts = await mailHostsFor(ctx.db, { customerId, fromEmail: sender.from.email });
  const at = hosts.trackingBaseUrl ?? undefined;
  const recipient = recipientOfCampaign({ customerId, listId, campaignId: 0n, subscriberId: id });
  const signer = linkSignerOf(ctx.installation);
  const links = signer.forRecipient(recipient, at, hosts.returnPathDomain ?? ctx.installation.bounceDomain);
  return {
    unsubscribe: () => links.unsubscribe(),
    unsubscribeMail: () => links.unsubscribeMail(),
    updateProfile: () => links.updateProfile(),
    ...(pendingUntil ? { confirm: () => signer.confirmation(recipient, pendingUntil, at) } : {}),
  };
}
