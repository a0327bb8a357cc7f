/** Composes a message of the queue by its purpose, when it is about to be sent: with its reader and its texts as they are now. */
import { z } from 'zod';
import { subscriberUid } from '../../../lib/ids.ts';
import { contactOf, tagsOf } from '../../audience/mails/compile-list-mail.ts';
import type { ListMail, PersonMailKind } from '../../audience/mails/list-mail.ts';
import type { MailSender } from '../../audience/mails/mail-sender-read-model.ts';
import { personMail, type PersonMail } from '../../audience/mails/person-mail.ts';
import { unsubscribeDigest } from '../../audience/mails/unsubscribe-notices.ts';
import type { Context } from '../../context.ts';
import { mailHostsFor } from '../../sending/identity.ts';
import { unreachable } from '../../../lib/errors.ts';
import type { DeliveryKey } from '../../source-key.ts';
import { linkSignerOf } from '../../tracking/link-signer.ts';
import { recipientOfCampaign } from '../../tracking/tracking.ts';
import { composeOfLedger } from './compose-transactional.ts';
import type { Composition } from './message-composition.ts';
import type { TakenMessage } from './message-queue-store.ts';
import { composeFlowMail } from '../flow-mails/compose-flow-mail.ts';
import { systemMessage } from './system-mail.ts';
import { composeTestMessage } from '../campaigns/test-message.ts';
import { composeTemplateTest, isTemplateTest } from '../flow-mails/test-template.ts';
import { composeMail } from '../transactional/compose-mail.ts';

/** Throws what composing throws: it is the message's fault. */
export function composeMessage(ctx: Context, message: TakenMessage): Promise<Composition> {
  const { purpose } = message;
  switch (purpose) {
    case 'confirmation':
    case 'welcome':
    case 'goodbye':
      return composePersonMail(ctx, message, purpose);
    case 'unsubscribe_notification':
      return composeDigest(ctx, message);
    case 'notice':
      return composeNotice(ctx, message);
    case 'test':
      return composeTest(ctx, message);
    case 'flow':
      return composeFlowMail(ctx, message);
    case 'transactional':
      return composeMail(ctx, message, keyOf(message));
    default:
      return unreachable(purpose);
  }
}

/** The key of the message's row in the ledger. */
export function keyOf({ customerId, sourceKind, sourceId, recipientId, id }: TakenMessage): DeliveryKey {
  return { customerId, sourceKind, sourceId, recipientId, occurrence: id };
}

const personContent = z.object({ eventId: z.coerce.bigint() });

async function composePersonMail(ctx: Context, message: TakenMessage, kind: PersonMailKind): Promise<Composition> {
  const { customerId, recipientId: id, sourceId: listId } = message;
  const { eventId } = personContent.parse(message.content);
  const found = await personMail(ctx, { customerId, listId, id, kind, eventId });
  if (found === 'recipient_changed') return 'again';
  if (typeof found === 'string') return { skip: found };
  const composed = await composeOfLedger(
    ctx,
    {
      customerId,
      ...textsOf(found.sender, found.mail),
      to: { email: found.email, uid: subscriberUid(id), fields: found.fields },
      links: await linksOf(ctx, message, found),
      isToMember: kind === 'welcome',
    },
    keyOf(message),
  );
  return { ...composed, email: found.email };
}

const digestContent = z.object({ count: z.number(), subscriberIds: z.array(z.coerce.bigint()) });

async function composeDigest(ctx: Context, message: TakenMessage): Promise<Composition> {
  const { customerId, sourceId: listId, email } = message;
  const digest = await unsubscribeDigest(ctx, { customerId, id: listId }, digestContent.parse(message.content));
  if (!digest) return { skip: 'source_deleted' };
  if (email === null) return 'again';
  const { count, people, sender, mail } = digest;
  const to = { email, uid: sender.list.uid, fields: { UNSUBSCRIBE_COUNT: count, UNSUBSCRIBED_PEOPLE: people } };
  const composed = await composeOfLedger(ctx, { customerId, ...textsOf(sender, mail), to }, keyOf(message));
  return { ...composed, email };
}

async function composeTest(ctx: Context, message: TakenMessage): Promise<Composition> {
  const { email, content, sourceId: campaignId } = message;
  if (email === null) return 'again';
  const asked = { key: keyOf(message), email, content };
  if (isTemplateTest(content)) return composeTemplateTest(ctx, asked);
  const composed = await composeTestMessage(ctx, asked);
  return composed ? { ...composed, email, campaignId } : { skip: 'source_deleted' };
}

async function composeNotice(ctx: Context, message: TakenMessage): Promise<Composition> {
  const { email, content } = message;
  if (email === null) return 'again';
  const notice = await systemMessage(ctx, { email, content });
  return notice ? { ...(await composeOfLedger(ctx, notice, keyOf(message))), email } : { skip: 'no_server' };
}

function textsOf(sender: MailSender, mail: ListMail) {
  return {
    customerUid: sender.customerUid,
    list: { ...sender.list, contact: contactOf(sender) },
    from: sender.from,
    ...{ subject: mail.subject, html: mail.html, plain: mail.plain === '' ? null : mail.plain },
    fieldDefaults: tagsOf(mail.kind, sender),
  };
}

/** A confirmation link only if there is something to confirm; it belongs to the person, however often it is asked. */
async function linksOf(ctx: Context, message: TakenMessage, { pendingUntil, sender }: PersonMail) {
  const { customerId, sourceId: listId, recipientId: subscriberId } = message;
  const hosts = await mailHostsFor(ctx.db, { customerId, fromEmail: sender.from.email });
  const at = hosts.trackingBaseUrl ?? undefined;
  const signer = linkSignerOf(ctx.installation);
  const bounceDomain = hosts.returnPathDomain ?? ctx.installation.bounceDomain;
  const links = signer.forRecipient({ ...keyOf(message), listId }, at, bounceDomain);
  const asked = recipientOfCampaign({ customerId, listId, campaignId: 0n, subscriberId });
  return {
    unsubscribe: () => links.unsubscribe(),
    unsubscribeMail: () => links.unsubscribeMail(),
    updateProfile: () => links.updateProfile(),
    ...(pendingUntil ? { confirm: () => signer.confirmation(asked, pendingUntil, at) } : {}),
  };
}
