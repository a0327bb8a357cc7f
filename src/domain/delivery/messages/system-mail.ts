/**
 * A mail of the program itself: from the operator's address (the setting `mail_from`), through the operator's own server, in
 * plain words. A job enqueues it as a message and is its cause: a job that runs twice sends once.
 */
import { z } from 'zod';
import { paymentMail } from '../../billing/saved-methods/payment-mail.ts';
import { NO_CONTACT } from '../../content/message.ts';
import type { Context } from '../../context.ts';
import { enqueueMessages } from '../../messages/enqueue-messages.ts';
import { PRIORITIES, type Priority } from '../../messages/message.ts';
import { addressMail } from '../../sending/addresses/address-mail.ts';
import { domainMail } from '../../sending/domains/domain-mail.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import type { TransactionalMessage } from './compose-transactional.ts';
import { administrators, operatorAccount, pausedWebhook, usersOf } from '../people-read-model.ts';

export interface SystemMail {
  readonly to: string;
  readonly subject: string;
  /** One paragraph each. */
  readonly paragraphs: readonly string[];
}

/** The content of its message. */
const systemMailContent = z.object({ subject: z.string(), paragraphs: z.array(z.string()) });

const NAME = 'Mailwright';
/** The program itself is no object. */
const NO_SOURCE = 0n;

/** Enqueues the mails that the job causes, one for each address. Throws when the installation has no operator account. */
export async function enqueueSystemMails(ctx: Context, jobId: string, mails: readonly SystemMail[]): Promise<void> {
  await enqueueNotices(
    ctx,
    mails.map((mail) => ({ ...mail, cause: `job ${jobId} ${mail.to}` })),
  );
}

/** The same for notices that know their causes; returns the causes of those that are new. */
export async function enqueueNotices(
  ctx: Pick<Context, 'db'>,
  mails: readonly (SystemMail & { readonly cause: string })[],
  priority: Priority = PRIORITIES.transactional,
): Promise<readonly string[]> {
  if (mails.length === 0) return [];
  const operator = await operatorAccount(ctx.db);
  if (!operator) throw new Error('The installation has no operator account.');
  const source = { customerId: operator.id, sourceKind: SOURCE_KINDS.transactional, sourceId: NO_SOURCE };
  return enqueueMessages(
    ctx.db,
    mails.map(({ to, subject, paragraphs, cause }) => ({
      source,
      to: { email: to },
      kind: 'transactional',
      purpose: 'notice',
      priority,
      cause,
      content: { subject, paragraphs },
    })),
  );
}

/** The message for its reader; undefined: the installation has no operator account any more. */
export async function systemMessage(
  ctx: Context,
  { email, content }: { readonly email: string; readonly content: unknown },
): Promise<TransactionalMessage | undefined> {
  const operator = await operatorAccount(ctx.db);
  if (!operator) return undefined;
  const { subject, paragraphs } = systemMailContent.parse(content);
  const fields = Object.fromEntries(paragraphs.map((text, index) => [`PARAGRAPH_${index}`, text]));
  return {
    customerId: operator.id,
    customerUid: operator.uid,
    list: { uid: operator.uid, name: NAME, contact: NO_CONTACT },
    from: { name: NAME, email: senderOf(ctx) },
    subject,
    // Values of tags, so that nothing in them is taken for a template.
    html: paragraphs.map((_text, index) => `<p>{PARAGRAPH_${index}}</p>`).join('\n'),
    fieldDefaults: Object.fromEntries(Object.keys(fields).map((tag) => [tag, ''])),
    to: { email, uid: operator.uid, fields },
  };
}

/** Notifies the users of a customer about a change of one of its domains. */
export async function enqueueDomainMails(
  ctx: Context,
  jobId: string,
  domain: Parameters<typeof domainMail>[1],
): Promise<void> {
  await enqueueSystemMails(ctx, jobId, await domainMail(ctx, domain));
}

/** Enqueues the mail that verifies a sender's address. */
export async function enqueueAddressMail(
  ctx: Context,
  jobId: string,
  address: Parameters<typeof addressMail>[1],
): Promise<void> {
  const mail = await addressMail(ctx, address);
  await enqueueSystemMails(ctx, jobId, mail ? [mail] : []);
}

/** Mails the users of a customer that a charge of its saved payment method brought no money. */
export async function enqueuePaymentMails(
  ctx: Context,
  jobId: string,
  charge: Parameters<typeof paymentMail>[1],
): Promise<void> {
  await enqueueSystemMails(ctx, jobId, await paymentMail(ctx, charge));
}

/** What somebody wrote to the postmaster of a bounce domain. */
export interface LetterToPostmaster {
  readonly id: string;
  readonly from: string;
  readonly subject: string;
  readonly text: string;
}

/** Mails the administrators what somebody wrote to the postmaster. */
export function enqueuePostmasterMails(ctx: Context, jobId: string, letter: LetterToPostmaster): Promise<void> {
  return enqueueToAdministrators(ctx, jobId, {
    subject: 'Mail to your postmaster',
    paragraphs: [
      `Somebody wrote to the postmaster of the bounce domain of ${ctx.installation.baseUrl}. This mail was not checked: the sender can be forged.`,
      `From: ${letter.from}`,
      `Subject: ${letter.subject}`,
      ...letter.text.split(/\n\s*\n/),
    ],
  });
}

/** A plugin that Mailwright has switched off, and why. */
export interface SwitchedOffPlugin {
  readonly plugin: string;
  readonly reason: string;
}

/** Tells the administrators that a plugin was switched off. */
export function enqueueSwitchedOffMails(
  ctx: Context,
  jobId: string,
  { plugin, reason }: SwitchedOffPlugin,
): Promise<void> {
  return enqueueToAdministrators(ctx, jobId, {
    subject: `The plugin ${plugin} was switched off`,
    paragraphs: [`The plugin ${plugin} of ${ctx.installation.baseUrl} does not run any more.`, reason],
  });
}

/** Informs the administrators, or the users of its customer, that a webhook was paused. */
export async function enqueuePausedWebhookMails(
  ctx: Context,
  jobId: string,
  { customerId, webhookId }: { readonly customerId: string; readonly webhookId: string },
): Promise<void> {
  const owner = BigInt(customerId);
  const webhook = await pausedWebhook(ctx.db, { customerId: owner, id: BigInt(webhookId) });
  if (!webhook) return;
  const { name, url, reason, kind } = webhook;
  const people = kind === 'lifecycle' ? await administrators(ctx.db) : await usersOf(ctx.db, owner);
  const why =
    reason === 'gone'
      ? 'Its receiver answered 410: it does not want this webhook any more.'
      : 'All its requests of the last five days have failed.';
  const mail = {
    subject: `The webhook "${name}" was paused`,
    paragraphs: [
      `Nothing is sent to ${url} any more. ${why}`,
      'Each event is kept until the end of the month after it happened. Make the webhook active when its receiver works again, then send again what was kept.',
    ],
  };
  await enqueueTo(ctx, jobId, { people, mail });
}

async function enqueueToAdministrators(ctx: Context, jobId: string, mail: Omit<SystemMail, 'to'>): Promise<void> {
  await enqueueTo(ctx, jobId, { people: await administrators(ctx.db), mail });
}

/** The same mail to each of them. */
function enqueueTo(
  ctx: Context,
  jobId: string,
  { people, mail }: { readonly people: readonly { email: string }[]; readonly mail: Omit<SystemMail, 'to'> },
): Promise<void> {
  return enqueueSystemMails(
    ctx,
    jobId,
    people.map(({ email }) => ({ ...mail, to: email })),
  );
}

function senderOf({ installation: { mailFrom = '', baseUrl } }: Context): string {
  return mailFrom === '' ? `no-reply@${new URL(baseUrl).hostname}` : mailFrom;
}
