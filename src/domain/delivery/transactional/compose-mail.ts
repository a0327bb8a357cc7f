/** Composes a transactional mail of the queue when it is about to be sent. */
import { ValidationError } from '../../../lib/errors.ts';
import { subscriberUid } from '../../../lib/ids.ts';
import { asciiDomainOf } from '../../../lib/mail-domain.ts';
import { SharedReads } from '../../../lib/shared-reads.ts';
import type { RecipientLinks } from '../../content/message.ts';
import type { MessageFile } from '../../content/message-files.ts';
import { wrapMessage } from '../../content/wrap-message.ts';
import type { TemplateKind } from '../../content/templates/template.ts';
import type { Context } from '../../context.ts';
import { readWholeFile } from '../../files/file-store.ts';
import { senderFault } from '../../sending/addresses/usable-sender.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import { identityFor, type SendingIdentity } from '../../sending/identity.ts';
import type { DeliveryKey } from '../../source-key.ts';
import { deliveryMessageId } from '../../tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../tracking/link-signer.ts';
import type { SourceRow } from '../campaigns/campaign-source-read-model.ts';
import { fieldValues } from '../field-values.ts';
import type { ComposedMessage } from '../messages/compose-transactional.ts';
import type { TakenMessage } from '../messages/message-queue-store.ts';
import { headerLine } from './mail-header.ts';
import { compiledMail, headsOf, NONE, type MailHeads } from './mail-source.ts';
import { filesOfMail, type TemplateHead } from './mail-source-read-model.ts';
import { mailContent } from './transactional.ts';

type ComposedMail = (ComposedMessage & { readonly email: string }) | { readonly skip: DeliveryReason } | 'again';

/** The mail, why there is none, or `again`. Throws what composing throws: it is the mail's fault. */
export async function composeMail(ctx: Context, message: TakenMessage, key: DeliveryKey): Promise<ComposedMail> {
  const { customerId, recipientId, email } = message;
  if (email === null) return 'again';
  const content = mailContent.parse(message.content);
  const listId = message.listId ?? NONE;
  const source = { customerId, templateId: message.sourceId, listId, kind: kindOf(message), content };
  const compiled = await compiledMail(ctx, source, sharedHeads(ctx, customerId));
  if (!compiled) return { skip: source.templateId === NONE ? 'source_deleted' : 'template_deleted' };
  const fromEmail = content.from.email;
  const { bounceDomain } = ctx.installation;
  const identity = await identities.read(ctx.db, `${customerId} ${fromEmail}`, () =>
    identityOfSender(ctx, { customerId, fromEmail }),
  );
  const domain = identity.returnPathDomain ?? bounceDomain ?? '';
  const signer = linkSignerOf(ctx.installation);
  const links = signer.forRecipient({ ...key, listId }, identity.trackingBaseUrl ?? undefined, domain);
  const filled = await compiled.fill({
    ...{ email, uid: subscriberUid(recipientId), data: content.data },
    fields: message.fields ? fieldValues(message.fields) : {},
    messageId: deliveryMessageId(ctx.installation, key, asciiDomainOf(fromEmail)),
    links: listId === NONE ? withoutList(links) : ofList(links),
  });
  const files = content.hasFiles ? await readFiles(ctx, message) : [];
  const wrapped = wrapMessage(filled.content, { headers: content.headers.map(headerLine), files });
  const from = links.returnPath() ?? filled.envelope.from;
  const whole = { ...filled, content: wrapped, envelope: { ...filled.envelope, from } };
  return { filled: whole, identity, fromEmail, email };
}

/** Kinds of messages that templates do not have come from elsewhere, and are as needed. */
function kindOf({ kind }: TakenMessage): TemplateKind {
  return kind === 'security' ? 'transactional' : kind;
}

const templateHeads = new SharedReads<TemplateHead | undefined>();
const listHeads = new SharedReads<SourceRow | undefined>();

/** Mails that are composed at the same time mostly have the same template. */
function sharedHeads({ db }: Context, customerId: bigint): MailHeads {
  const heads = headsOf(db, customerId);
  return {
    template: (id) => templateHeads.read(db, `${customerId} ${id}`, () => heads.template(id)),
    list: (id) => listHeads.read(db, `${customerId} ${id}`, () => heads.list(id)),
  };
}

/** They mostly have the same sender, too: it takes five statements. */
const identities = new SharedReads<SendingIdentity>();

async function identityOfSender(
  ctx: Context,
  { customerId, fromEmail }: { readonly customerId: bigint; readonly fromEmail: string },
): Promise<SendingIdentity> {
  await refuseForeignSender(ctx, { customerId, email: fromEmail });
  return identityFor(ctx.db, { customerId, fromEmail, signDkim: true, secret: ctx.installation.secret });
}

/** For a campaign the author is told at the start; here the log tells it. */
async function refuseForeignSender(ctx: Context, sender: { customerId: bigint; email: string }): Promise<void> {
  const fault = await senderFault(ctx.db, { ...ctx.installation, fromAddresses: 'any' }, sender);
  if (fault !== undefined) throw new ValidationError({ fromEmail: [fault] });
}

/** Without a list there is nothing to unsubscribe from and no profile. */
function withoutList(links: Pick<RecipientLinks, 'click' | 'open'>): RecipientLinks {
  return {
    click: (no, url) => links.click(no, url),
    open: () => links.open(),
    unsubscribe: () => '',
    webView: () => '',
    updateProfile: () => '',
  };
}

function ofList(links: RecipientLinks): RecipientLinks {
  return {
    ...withoutList(links),
    unsubscribe: () => links.unsubscribe(),
    unsubscribeMail: () => links.unsubscribeMail?.(),
    updateProfile: () => links.updateProfile(),
  };
}

/** Throws ValidationError on `attachments` when an uploaded file was deleted meanwhile: nobody gets half a mail. */
async function readFiles({ db }: Context, { customerId, id }: TakenMessage): Promise<MessageFile[]> {
  const files: MessageFile[] = [];
  for (const { name, type, bytes, fileId } of await filesOfMail(db, { customerId, messageId: id })) {
    if (!bytes && fileId === null)
      throw new ValidationError({ attachments: [`The file "${name}" was deleted before the mail was sent.`] });
    files.push({ name, type, bytes: bytes ?? (await readWholeFile(db, { customerId, id: fileId ?? NONE })) });
  }
  return files;
}
