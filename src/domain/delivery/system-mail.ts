/**
 * A mail of the program itself: from the operator's address (the setting `mail_from`), through the operator's own server, in
 * plain words. The caller is a job: a failure is thrown, and the queue tries again.
 */
import { paymentMail } from '../billing/payment-mail.ts';
import { NO_CONTACT } from '../content/message.ts';
import type { Context } from '../context.ts';
import { addressMail } from '../sending/addresses/address-mail.ts';
import { domainMail } from '../sending/domains/domain-mail.ts';
import type { DriverPool } from '../sending/driver-pool.ts';
import { administrators, operatorAccount } from './people-read-model.ts';
import { sendTransactional } from './send-transactional.ts';

export interface SystemMail {
  readonly to: string;
  readonly subject: string;
  /** One paragraph each. */
  readonly paragraphs: readonly string[];
  /** Distinguishes this mail from others to the same person: a repeated job sends the same Message-ID. */
  readonly purpose: string;
}

const NAME = 'Mailwright';

/** Sends the mail. Throws when there is no server or it was not accepted. */
export async function sendSystemMail(ctx: Context, drivers: DriverPool, mail: SystemMail): Promise<void> {
  const operator = await operatorAccount(ctx.db);
  if (!operator) throw new Error('The installation has no operator account.');
  const fields = Object.fromEntries(mail.paragraphs.map((text, index) => [`PARAGRAPH_${index}`, text]));
  await sendTransactional(ctx, drivers, {
    customerId: operator.id,
    customerUid: operator.uid,
    list: { uid: operator.uid, name: NAME, contact: NO_CONTACT },
    from: { name: NAME, email: senderOf(ctx) },
    subject: mail.subject,
    // Values of tags, so that nothing in them is taken for a template.
    html: mail.paragraphs.map((_text, index) => `<p>{PARAGRAPH_${index}}</p>`).join('\n'),
    fieldDefaults: Object.fromEntries(Object.keys(fields).map((tag) => [tag, ''])),
    to: { email: mail.to, uid: operator.uid, fields },
    purpose: `${mail.purpose}\n${mail.to}`,
  });
}

/** Notifies the users of a customer about a change of one of its domains. */
export async function sendDomainMails(
  ctx: Context,
  drivers: DriverPool,
  domain: Parameters<typeof domainMail>[1],
): Promise<void> {
  for (const mail of await domainMail(ctx, domain)) await sendSystemMail(ctx, drivers, mail);
}

/** Sends the mail that verifies a sender's address. */
export async function sendAddressMail(
  ctx: Context,
  drivers: DriverPool,
  address: Parameters<typeof addressMail>[1],
): Promise<void> {
  const mail = await addressMail(ctx, address);
  if (mail) await sendSystemMail(ctx, drivers, mail);
}

/** Tells the users of a customer that a charge of its saved payment method brought no money. */
export async function sendPaymentMails(
  ctx: Context,
  drivers: DriverPool,
  charge: Parameters<typeof paymentMail>[1],
): Promise<void> {
  for (const mail of await paymentMail(ctx, charge)) await sendSystemMail(ctx, drivers, mail);
}

/** What somebody wrote to the postmaster of a bounce domain. */
export interface LetterToPostmaster {
  readonly id: string;
  readonly from: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends the administrators what somebody wrote to the postmaster. */
export function sendPostmasterMails(ctx: Context, drivers: DriverPool, letter: LetterToPostmaster): Promise<void> {
  return sendToAdministrators(ctx, drivers, {
    subject: 'Mail to your postmaster',
    paragraphs: [
      `Somebody wrote to the postmaster of the bounce domain of ${ctx.installation.baseUrl}. This mail was not checked: the sender can be forged.`,
      `From: ${letter.from}`,
      `Subject: ${letter.subject}`,
      ...letter.text.split(/\n\s*\n/),
    ],
    purpose: `postmaster ${letter.id}`,
  });
}

/** A plugin that Mailwright has switched off, and why. */
export interface SwitchedOffPlugin {
  readonly plugin: string;
  readonly reason: string;
}

/** Tells the administrators that a plugin was switched off. */
export function sendSwitchedOffMails(
  ctx: Context,
  drivers: DriverPool,
  { plugin, reason }: SwitchedOffPlugin,
): Promise<void> {
  return sendToAdministrators(ctx, drivers, {
    subject: `The plugin ${plugin} was switched off`,
    paragraphs: [`The plugin ${plugin} of ${ctx.installation.baseUrl} does not run any more.`, reason],
    purpose: `switched off ${plugin} ${reason}`,
  });
}

async function sendToAdministrators(ctx: Context, drivers: DriverPool, mail: Omit<SystemMail, 'to'>): Promise<void> {
  for (const { email } of await administrators(ctx.db)) await sendSystemMail(ctx, drivers, { ...mail, to: email });
}

function senderOf({ installation: { mailFrom = '', baseUrl } }: Context): string {
  return mailFrom === '' ? `no-reply@${new URL(baseUrl).hostname}` : mailFrom;
}
