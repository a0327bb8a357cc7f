/** Composes the message of one recipient of a campaign, and decides what follows when it cannot be composed. */
import { giveBack } from '../../../lib/blocks.ts';
import { messageOf } from '../../../lib/errors.ts';
import { subscriberUid } from '../../../lib/ids.ts';
import type { FilledMessage } from '../../content/message.ts';
import { faultSentence, isHeaderTooLong, isRunaway } from '../../content/template-fault.ts';
import type { Context } from '../../context.ts';
import { deliveryMessageId } from '../../tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../tracking/link-signer.ts';
import type { SendingChannel } from '../../sending/driver-pool.ts';
import type { CampaignInHand } from './active-campaign.ts';
import { messageFault, recipientFault, type CampaignStop } from './campaign-stop.ts';
import {
  HEADER_TOO_LONG,
  NOT_COMPOSED,
  REPLY_LENGTH_MAX,
  untried,
  type LeasedDelivery,
  type DeliveryOutcome,
} from '../ledger/delivery.ts';
import { fieldValues } from '../field-values.ts';

/** A key that cannot sign, or a process that cannot. */
class NotSignedError extends Error {}

/** The message, signed if its sender's domain signs and the signature reaches the recipient. Throws errors for `composeFault`. */
export async function composeDelivery(
  ctx: Context,
  { campaign, edition, channel }: CampaignInHand & { readonly channel?: Pick<SendingChannel, 'signsDkim'> },
  { recipientId, occurrence, listId, email, fields, pluginValues }: LeasedDelivery,
): Promise<FilledMessage> {
  const { sign, trackingBaseUrl, returnPathDomain } = edition.identity;
  const { customerId, sourceKind, sourceId } = campaign.key;
  const recipient = { customerId, sourceKind, sourceId, recipientId, occurrence, listId };
  const bounceDomain = returnPathDomain ?? ctx.installation.bounceDomain ?? '';
  const links = linkSignerOf(ctx.installation).forRecipient(recipient, trackingBaseUrl ?? undefined, bounceDomain);
  const { content, envelope, messageId, idempotencyKey, needsSmtpUtf8 } = await edition.message.fill({
    email,
    uid: subscriberUid(recipientId),
    fields: fieldValues(fields),
    pluginValues,
    messageId: deliveryMessageId(ctx.installation, recipient, edition.fromDomain),
    links,
  });
  const from = links.returnPath() ?? envelope.from;
  const rest = { envelope: { from, to: envelope.to }, messageId, idempotencyKey, needsSmtpUtf8 };
  if (sign === null || channel?.signsDkim) return { content, ...rest };
  const signed = await sign(content).catch((error: unknown) => {
    throw new NotSignedError(`It could not be signed: ${messageOf(error)}`);
  });
  giveBack(content);
  return { content: signed, ...rest };
}

export interface ComposeFault {
  readonly outcome: DeliveryOutcome;
  /** The campaign is paused for it, and the recipient waits; absent: only the recipient is left out. */
  readonly stop?: CampaignStop;
}

/** What follows from an error of `composeDelivery`. */
export function composeFault(
  error: unknown,
  delivery: LeasedDelivery,
  { skipsFailed }: { skipsFailed: boolean },
): ComposeFault {
  const waiting = untried(delivery, { state: 'queued', reason: 'template_stopped' });
  if (isRunaway(error)) return { outcome: waiting, stop: { pauseFor: messageFault(error) } };
  const fault = faultSentence(error);
  const isOwn = isHeaderTooLong(error);
  // A failed signature is not the recipient's fault: nobody is skipped for it.
  if (!isOwn && (!skipsFailed || error instanceof NotSignedError))
    return { outcome: waiting, stop: { pauseFor: recipientFault(subscriberUid(delivery.recipientId), fault) } };
  const reason = isOwn ? HEADER_TOO_LONG : NOT_COMPOSED;
  const failed = untried(delivery, { state: 'failed', reason });
  return { outcome: { ...failed, isTry: true, reply: fault.slice(0, REPLY_LENGTH_MAX) } };
}
