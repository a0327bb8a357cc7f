/** Keeps the texts of a campaign as a template. */
import { requireScope } from '../accounts/require-scope.ts';
import { addTemplate } from '../content/templates/add-template.ts';
import type { Context } from '../context.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';

export interface TemplateFromCampaignInput {
  readonly campaignUid: string;
  /** Empty or absent: the campaign's. */
  readonly name?: string | null | undefined;
  readonly kind?: string | null | undefined;
}

/**
 * Adds a template with the texts of a campaign in any state, without its attachments, and returns its uid. Throws ForbiddenError
 * without the scope `campaigns:read`, ValidationError, `CAMPAIGN_NOT_FOUND`.
 */
export async function createTemplateFromCampaign(
  ctx: Context,
  { campaignUid, name, kind }: TemplateFromCampaignInput,
): Promise<{ uid: string }> {
  requireScope(ctx, 'campaignUid', 'campaigns:read');
  const campaign = await findOwnedCampaign(ctx, campaignUid);
  const { subject, preheader, html, plain } = campaign;
  return addTemplate(ctx, { name: name?.trim() ? name : campaign.name, kind, subject, preheader, html, plain });
}
