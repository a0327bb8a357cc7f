/** Previews a campaign's message as a person would get it, in any state, and sends nothing. */
import { randomBytes } from 'node:crypto';
import { ValidationError } from '../../lib/errors.ts';
import { findSubscriber } from '../audience/find-subscriber.ts';
import { uidOfList } from '../audience/list-store.ts';
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts';
import { httpAddress } from '../../lib/http-address.ts';
import { viewerOf, type Context } from '../context.ts';
import { brokenLinkWarning } from '../content/message-warnings.ts';
import type { RecipientLinks, TrackedLink } from '../content/message.ts';
import { compileCampaign } from '../delivery/campaign-message.ts';
import { sampleLinks, sampleValues } from '../delivery/sample-recipient.ts';
import { linkAddressFor } from '../sending/identity.ts';
import type { Campaign } from './campaign.ts';
import { campaignListDeleted, campaignNotFound, tooManyPreviews } from './campaign-errors.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

export interface CampaignPreview {
  readonly subject: string;
  /** Null: there is only plain text. Not trusted: show it in a sandbox. */
  readonly html: string | null;
  readonly plain: string;
  /** As they are sent, unfolded; without signatures and return-path. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly sizeBytes: number;
  readonly links: readonly TrackedLink[];
  readonly warnings: readonly string[];
}

interface PreviewRequest {
  readonly uid: string;
  readonly subscriber?: string | null | undefined;
}

/** A message with its files is in memory several times while it is composed: a hundred megabytes of the web process. */
const composing = createConcurrencyLimit({
  runningMax: 2,
  runningPerKeyMax: 1,
  waitingPerKeyMax: 20,
  refuse: tooManyPreviews,
});

/**
 * The message for a subscriber (uid, id or address) of the campaign's list, or with sample values. Throws ValidationError (what
 * cannot be composed; `SUBSCRIBER_OF_OTHER_LIST`), RateLimitedError `TOO_MANY_PREVIEWS`, NotFoundError, ForeignResourceError.
 */
export async function previewCampaign(ctx: Context, request: PreviewRequest): Promise<CampaignPreview> {
  return composing.run(() => preview(ctx, request), String(viewerOf(ctx).customerId));
}

async function preview(ctx: Context, { uid, subscriber }: PreviewRequest): Promise<CampaignPreview> {
  const campaign = await findOwnedCampaign(ctx, uid);
  if (campaign.listName !== null) throw campaignListDeleted();
  const { customerId, listId, id: campaignId } = campaign;
  const subscriberId = await readerOf(ctx, campaign, subscriber);
  const options = { files: 'whole', baseUrl: ctx.installation.baseUrl } as const;
  const message = await compileCampaign(ctx.db, { customerId, campaignId }, options);
  if (!message) throw campaignNotFound();
  const sample = { customerId, listId, campaignId };
  const values = await sampleValues(ctx, sample, subscriberId);
  const at = await linkAddressFor(ctx.db, { customerId, fromEmail: campaign.fromEmail });
  const { links, broken } = watchedLinks(sampleLinks(ctx.installation, sample, at));
  const recipient = { ...values, messageId: `<${randomBytes(12).toString('hex')}@preview.invalid>`, links };
  const { subject, html = null, plain } = await message.texts(recipient);
  const { content } = await message.fill(recipient);
  return {
    ...{ subject, html, plain, links: message.links },
    warnings: [...message.warnings, ...[...broken].map(brokenLinkWarning)],
    headers: headersOf(content),
    sizeBytes: content.length,
  };
}

/** Links that collect addresses which are invalid with this reader's values, for example with a merge tag as the host. */
function watchedLinks(links: RecipientLinks): { links: RecipientLinks; broken: ReadonlySet<string> } {
  const broken = new Set<string>();
  const click = (no: number, url: string): string => {
    if (httpAddress(url) === '') broken.add(url);
    return links.click(no, url);
  };
  return { links: { ...links, click }, broken };
}

/** The id of a subscriber of the campaign's list; null: sample values. */
export async function readerOf(
  ctx: Context,
  { customerId, listId }: Campaign,
  subscriber: string | null | undefined,
): Promise<bigint | null> {
  if (!subscriber) return null;
  const listUid = await uidOfList(ctx.db, { customerId, id: listId });
  const found = await findSubscriber(ctx, { subscriber, listUid: subscriber.includes('@') ? listUid : undefined });
  if (found.listId === listId) return found.id;
  const sentence = 'The subscriber must be on the list of the campaign.';
  throw new ValidationError({ subscriber: [sentence] }, 'SUBSCRIBER_OF_OTHER_LIST', sentence);
}

function headersOf(content: Buffer): { name: string; value: string }[] {
  const head = content.subarray(0, content.indexOf('\r\n\r\n')).toString();
  return head
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .map((line) => ({ name: line.slice(0, line.indexOf(':')), value: line.slice(line.indexOf(':') + 1).trim() }));
}
