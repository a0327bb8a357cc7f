/** Previews a campaign's message as a person would get it, in any state, and sends nothing. */
import { ValidationError } from '../../lib/errors.ts';
import { requireScope } from '../accounts/require-scope.ts';
import { findSubscriber } from '../audience/find-subscriber.ts';
import { uidOfList } from '../audience/list-store.ts';
import type { Context } from '../context.ts';
import { compileCampaign } from '../delivery/campaigns/campaign-message.ts';
import type { Campaign } from './campaign.ts';
import { campaignListDeleted, campaignNotFound } from './campaign-errors.ts';
import { composePreview, whenFree, type ComposedPreview } from './compose-preview.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { previewLink, type PreviewLink } from './preview-link.ts';

export interface CampaignPreview extends ComposedPreview {
  /** Where the same is shown as a page; null: the message is not saved. */
  readonly page: PreviewLink | null;
}

export interface PreviewRequest {
  readonly uid: string;
  readonly subscriber?: string | null | undefined;
}

/**
 * The message for a subscriber (uid, id or address) of the campaign's list, or with sample values. Throws ForbiddenError
 * (`subscriber` needs the scope `subscribers:read`), ValidationError (what cannot be composed; `SUBSCRIBER_OF_OTHER_LIST`),
 * RateLimitedError `TOO_MANY_PREVIEWS`, NotFoundError, ForeignResourceError.
 */
export async function previewCampaign(ctx: Context, request: PreviewRequest): Promise<CampaignPreview> {
  return whenFree(ctx, async () => {
    const campaign = await findOwnedCampaign(ctx, request.uid);
    if (campaign.listName !== null) throw campaignListDeleted();
    const { customerId, listId, id: campaignId, fromEmail } = campaign;
    const subscriberId = await readerOf(ctx, campaign, request.subscriber);
    const options = { files: 'whole', baseUrl: ctx.installation.baseUrl } as const;
    const message = await compileCampaign(ctx, { customerId, campaignId }, options);
    if (!message) throw campaignNotFound();
    const sample = { customerId, listId, campaignId };
    const composed = await composePreview(ctx, { message, sample, subscriberId, fromEmail });
    return { ...composed, page: previewLink(ctx, { campaignUid: campaign.uid, subscriberId }) };
  });
}

/** The id of a subscriber of the list; null: sample values. Throws ForbiddenError without the scope `subscribers:read`. */
export async function readerOf(
  ctx: Context,
  { customerId, listId }: Pick<Campaign, 'customerId' | 'listId'>,
  subscriber: string | null | undefined,
): Promise<bigint | null> {
  if (!subscriber) return null;
  // The author's html can name every field.
  requireScope(ctx, 'subscriber', 'subscribers:read');
  const listUid = await uidOfList(ctx.db, { customerId, id: listId });
  const found = await findSubscriber(ctx, { subscriber, listUid: subscriber.includes('@') ? listUid : undefined });
  if (found.listId === listId) return found.id;
  const sentence = 'The subscriber must be on the list of the campaign.';
  throw new ValidationError({ subscriber: [sentence] }, 'SUBSCRIBER_OF_OTHER_LIST', sentence);
}
