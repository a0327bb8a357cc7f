/** Composes one mail of a flow: with the person's values, the payload of the run, signed links and the unsubscribe headers. */
import { subscriberUid } from '../../../lib/ids.ts';
import { asciiDomainOf } from '../../../lib/mail-domain.ts';
import type { Context } from '../../context.ts';
import type { MessageTexts } from '../../content/message.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { deliveryMessageId } from '../../tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../tracking/link-signer.ts';
import type { TrackedRecipient } from '../../tracking/tracking.ts';
import type { Composition } from '../messages/message-composition.ts';
import { fieldValues } from '../field-values.ts';
import { flowEdition } from './flow-edition.ts';
import { flowMailContent } from './flow-mail.ts';
import { readFlowContent } from './flow-source-read-model.ts';
import type { TakenMessage } from '../messages/message-queue-store.ts';
import { personOnList } from '../people-read-model.ts';
import { tagValuesFor } from '../campaigns/plugin-tags.ts';

/** Throws what composing throws: it is the message's fault. */
export async function composeFlowMail(ctx: Context, message: TakenMessage): Promise<Composition> {
  const { customerId, sourceKind, sourceId, recipientId, id, listId, email } = message;
  if (email === null || listId === null) return 'again';
  const { templateUid, subject, payload } = flowMailContent.parse(message.content);
  const edition = await flowEdition(ctx, { customerId, automationId: sourceId, listId, templateUid, subject });
  if ('skip' in edition) return edition;
  const recipient = { customerId, sourceKind, sourceId, recipientId, occurrence: id, listId };
  const { trackingBaseUrl, returnPathDomain } = edition.identity;
  const bounceDomain = returnPathDomain ?? ctx.installation.bounceDomain ?? '';
  const links = linkSignerOf(ctx.installation).forRecipient(recipient, trackingBaseUrl ?? undefined, bounceDomain);
  const reader = { email, uid: subscriberUid(recipientId), fields: fieldValues(message.fields ?? {}) };
  const filled = await edition.message.fill({
    ...reader,
    payload: payload ?? undefined,
    pluginValues: (await tagValuesFor(ctx.hooks, edition.message, [reader]))?.of(reader.uid),
    messageId: deliveryMessageId(ctx.installation, recipient, asciiDomainOf(edition.fromEmail)),
    links,
  });
  const from = links.returnPath() ?? filled.envelope.from;
  const { identity, fromEmail } = edition;
  return { filled: { ...filled, envelope: { ...filled.envelope, from } }, identity, fromEmail, email };
}

/** A mail of a flow as a page; undefined: it is no such mail, its content was erased, or what it was made of is gone. */
export async function flowWebView(ctx: Context, recipient: TrackedRecipient): Promise<MessageTexts | undefined> {
  const { customerId, sourceKind, sourceId, recipientId, occurrence, listId } = recipient;
  if (sourceKind !== SOURCE_KINDS.automation) return undefined;
  const content = await readFlowContent(ctx.db, { customerId, automationId: sourceId, messageId: occurrence });
  const person = await personOnList(ctx.db, { customerId, listId, id: recipientId });
  if (content === undefined || !person) return undefined;
  const { templateUid, subject, payload } = flowMailContent.parse(content);
  const edition = await flowEdition(ctx, { customerId, automationId: sourceId, listId, templateUid, subject });
  if ('skip' in edition) return undefined;
  const reader = { email: person.email, uid: subscriberUid(recipientId), fields: fieldValues(person.fields) };
  return edition.message.texts({
    ...reader,
    payload: payload ?? undefined,
    pluginValues: (await tagValuesFor(ctx.hooks, edition.message, [reader]))?.of(reader.uid),
    messageId: '',
    links: linkSignerOf(ctx.installation).forRecipient(recipient, edition.identity.trackingBaseUrl ?? undefined),
  });
}
