/**
 * Sends one message outside of campaigns (a confirmation, a notification) through the customer's server. The caller is a job: a
 * failure is thrown, and the queue tries again.
 */
import { createHash } from 'node:crypto';
import { asciiDomainOf } from '../../lib/mail-domain.ts';
import type { Context } from '../context.ts';
import { compileMessage } from '../content/compile-message.ts';
import type { FilledMessage, RecipientLinks, MessageContact, MessageRecipient } from '../content/message.ts';
import { senderFault } from '../sending/addresses/usable-sender.ts';
import type { DriverPool } from '../sending/driver-pool.ts';
import { identityFor, type SendingIdentity } from '../sending/identity.ts';
import { handOver } from './hand-over.ts';

export interface TransactionalMessage {
  readonly customerId: bigint;
  readonly customerUid: string;
  readonly list: { readonly uid: string; readonly name: string; readonly contact: MessageContact };
  readonly from: { readonly name: string; readonly email: string };
  readonly subject: string;
  readonly html: string;
  /** Null or absent: made from the html. */
  readonly plain?: string | null;
  /** The tags that the message may use besides the built-in ones, with the text for a missing value. */
  readonly fieldDefaults?: Readonly<Record<string, string>>;
  /** Its reader is on the list, and `links` contain the unsubscribe link. */
  readonly isToMember?: boolean;
  /** Our addresses; missing ones are empty. */
  readonly links?: Partial<RecipientLinks>;
  readonly to: Pick<MessageRecipient, 'email' | 'uid' | 'fields'>;
  /** Distinguishes this message from others to the same person: a repeated job sends the same Message-ID. */
  readonly purpose: string;
}

/** Links of a message without campaign links. */
const noLinks: RecipientLinks = {
  click: (_no, url) => url,
  open: () => '',
  unsubscribe: () => '',
  webView: () => '',
  updateProfile: () => '',
};

/** Hands the message over. Throws when there is no server, it was not accepted, or its sender's domain is another customer's. */
export async function sendTransactional(
  ctx: Context,
  drivers: DriverPool,
  message: TransactionalMessage,
): Promise<void> {
  // For a campaign the author is told at the start; here nobody can be told, and the job's failure is logged.
  const sender = { customerId: message.customerId, email: message.from.email };
  const fault = await senderFault(ctx.db, { ...ctx.installation, fromAddresses: 'any' }, sender);
  if (fault !== undefined) throw new Error(fault);
  const channel = await drivers.channelFor(ctx, message.customerId);
  if (!channel) throw new Error('There is no active sending server.');
  const { customerId } = message;
  const { filled, identity } = await composeTransactional(ctx, message);
  await handOver(ctx, filled, { drivers, channel, customerId, identity, fromEmail: sender.email });
}

/** Composes the message, and finds what its sender's domain adds to it. */
export async function composeTransactional(
  ctx: Context,
  message: TransactionalMessage,
): Promise<{ filled: FilledMessage; identity: SendingIdentity }> {
  const compiled = await compileMessage({
    kind: 'transactional',
    isToMember: message.isToMember ?? false,
    customerUid: message.customerUid,
    campaign: { uid: '', name: '' },
    list: message.list,
    from: message.from,
    replyTo: null,
    subject: message.subject,
    html: message.html,
    plain: message.plain ?? null,
    trackOpens: false,
    trackClicks: false,
    fieldDefaults: message.fieldDefaults ?? {},
  });
  const filled = await compiled.fill({
    ...message.to,
    messageId: messageIdOf(message),
    links: { ...noLinks, ...message.links },
  });
  const identity = await identityFor(ctx.db, {
    customerId: message.customerId,
    fromEmail: message.from.email,
    signDkim: true,
    secret: ctx.installation.secret,
  });
  return { filled, identity };
}

function messageIdOf({ purpose, to, from }: TransactionalMessage): string {
  const digest = createHash('sha256').update(`${purpose}\n${to.uid}`).digest('hex').slice(0, 32);
  return `<${digest}@${asciiDomainOf(from.email)}>`;
}
