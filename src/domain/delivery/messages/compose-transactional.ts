/** Composes a message outside of campaigns: a mail of a list, a notice of the program, the test of a server. It sends nothing. */
import { asciiDomainOf } from '../../../lib/mail-domain.ts';
import type { Context } from '../../context.ts';
import { compileMessage } from '../../content/compile-message.ts';
import type { FilledMessage, RecipientLinks, MessageContact, MessageRecipient } from '../../content/message.ts';
import { senderFault } from '../../sending/addresses/usable-sender.ts';
import { identityFor, type SendingIdentity } from '../../sending/identity.ts';
import type { DeliveryKey } from '../../source-key.ts';
import { deliveryMessageId } from '../../tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../tracking/link-signer.ts';

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
}

/** Links of a message without campaign links. */
const noLinks: RecipientLinks = {
  click: (_no, url) => url,
  open: () => '',
  unsubscribe: () => '',
  webView: () => '',
  updateProfile: () => '',
};

export interface ComposedMessage {
  readonly filled: FilledMessage;
  /** What its sender's domain adds. */
  readonly identity: SendingIdentity;
  /** The bare address in From. */
  readonly fromEmail: string;
}

/**
 * Composes a message with a row in the ledger: Message-ID and return-path say which. Throws what composing throws, and an Error when
 * its sender's domain is another customer's: for a campaign the author is told at the start, here the log tells it.
 */
export async function composeOfLedger(
  ctx: Context,
  message: TransactionalMessage,
  key: DeliveryKey,
): Promise<ComposedMessage> {
  const { customerId, from } = message;
  const fault = await senderFault(
    ctx.db,
    { ...ctx.installation, fromAddresses: 'any' },
    { customerId, email: from.email },
  );
  if (fault !== undefined) throw new Error(fault);
  const messageId = deliveryMessageId(ctx.installation, key, asciiDomainOf(from.email));
  const composed = await composeTransactional(ctx, message, messageId);
  return { ...composed, filled: withReturnPath(ctx, { ...composed, key }) };
}

/** Composes the message, and finds what its sender's domain adds to it. */
export async function composeTransactional(
  ctx: Context,
  message: TransactionalMessage,
  messageId: string,
): Promise<ComposedMessage> {
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
  const filled = await compiled.fill({ ...message.to, messageId, links: { ...noLinks, ...message.links } });
  const identity = await identityFor(ctx.db, {
    customerId: message.customerId,
    fromEmail: message.from.email,
    signDkim: true,
    secret: ctx.installation.secret,
  });
  return { filled, identity, fromEmail: message.from.email };
}

/** No list: a return-path names none. */
const NO_LIST = 0n;

/** The message with a return-path that names its row in the ledger, if bounces are read somewhere. */
export function withReturnPath(
  { installation }: Context,
  { filled, identity, key }: Pick<ComposedMessage, 'filled' | 'identity'> & { readonly key: DeliveryKey },
): FilledMessage {
  const domain = identity.returnPathDomain ?? installation.bounceDomain ?? '';
  const links = linkSignerOf(installation).forRecipient({ ...key, listId: NO_LIST }, undefined, domain);
  const from = links.returnPath();
  return from === undefined ? filled : { ...filled, envelope: { ...filled.envelope, from } };
}
