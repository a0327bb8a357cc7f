/** The preview behind an address of `previewLink`, composed when the page is asked for. */
import { isTokenCurrent } from '../accounts/authenticate-token.ts';
import type { Context } from '../context.ts';
import { previewCampaign, type CampaignPreview } from './preview-campaign.ts';
import { readPreviewLink } from './preview-link.ts';

export type PreviewPage =
  | { readonly kind: 'unknown' | 'expired' }
  | { readonly kind: 'message'; readonly customerId: bigint; readonly preview: CampaignPreview };

/**
 * What the address shows: the campaign as it is now. It expires by the clock, and with the token that asked for it. Throws what
 * `previewCampaign` throws.
 */
export async function readPreviewPage(ctx: Context, token: string): Promise<PreviewPage> {
  const link = readPreviewLink(ctx, token);
  if (!link) return { kind: 'unknown' };
  const own: Context = { ...ctx, viewer: link.viewer };
  if (link.expiresAt <= ctx.clock.now() || !(await isTokenCurrent(own))) return { kind: 'expired' };
  const { campaignUid: uid, subscriber } = link;
  const { customerId } = link.viewer;
  return { kind: 'message', customerId, preview: await previewCampaign(own, { uid, subscriber }) };
}
