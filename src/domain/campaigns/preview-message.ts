/**
 * Previews a message that is not saved: a new one to a list, or a campaign with changes that are still in its editor. Nothing is
 * stored and nothing is sent.
 */
import { z } from 'zod';
import { checksOf } from '../../db/fields.ts';
import { ValidationError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import { requireScope } from '../accounts/require-scope.ts';
import { findOwnedList } from '../audience/find-owned-list.ts';
import { viewerOf, type Context } from '../context.ts';
import { compileSource } from '../delivery/campaigns/campaign-message.ts';
import { readListSource, readSource, type SourceRow } from '../delivery/campaigns/campaign-source-read-model.ts';
import { campaignListDeleted, campaignNotFound } from './campaign-errors.ts';
import { campaignFields } from './campaign-fields.ts';
import { composePreview, whenFree } from './compose-preview.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { readerOf, type CampaignPreview } from './preview-campaign.ts';
import { listNotFound } from '../audience/list-errors.ts';

const { subject, preheader, fromEmail, fromName, replyTo, html, plain } = checksOf(campaignFields);
export const previewTextsInput = z.object({ subject, preheader, fromEmail, fromName, replyTo, html, plain }).partial();

export interface PreviewMessageInput extends z.input<typeof previewTextsInput> {
  /** The list of a new message, whose sender and subject stand in for those that are not given; or another list of a campaign. */
  readonly listUid?: string | null | undefined;
  /** The campaign whose message is changed; what is not given is as it is stored. */
  readonly campaignUid?: string | null | undefined;
  readonly subscriber?: string | null | undefined;
}

/** No campaign: the links of the message belong to none, not even that of the web view. */
const NO_CAMPAIGN = 0n;

/**
 * The message with the given texts, for a subscriber (uid, id or address) of the list, or with sample values. Throws
 * ForbiddenError (`subscriber` needs the scope `subscribers:read`, `listUid` the scope `lists:read`: the author's html can show every
 * field), ValidationError (faulty texts; `listUid` and `campaignUid` when neither is given), and as `previewCampaign`.
 */
export async function previewMessage(ctx: Context, input: PreviewMessageInput): Promise<CampaignPreview> {
  if (input.listUid) requireScope(ctx, 'listUid', 'lists:read');
  const given = parseInput(previewTextsInput, input);
  return whenFree(ctx, async () => {
    const { customerId, campaignId, stored } = await readStored(ctx, input);
    const row = withTexts(stored, given);
    const place = { customerId, listId: row.list_id };
    const subscriberId = await readerOf(ctx, place, input.subscriber);
    const { baseUrl } = ctx.installation;
    const message = await compileSource(ctx, { key: { customerId, campaignId }, row, files: 'whole', baseUrl });
    const sample = { ...place, campaignId: NO_CAMPAIGN };
    const composed = await composePreview(ctx, { message, sample, subscriberId, fromEmail: row.from_email });
    return { ...composed, page: null };
  });
}

interface Stored {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly stored: SourceRow;
}

async function readStored(ctx: Context, { listUid, campaignUid }: PreviewMessageInput): Promise<Stored> {
  const list = listUid ? await readList(ctx, listUid) : undefined;
  if (!campaignUid) {
    if (list) return { customerId: viewerOf(ctx).customerId, campaignId: NO_CAMPAIGN, stored: list };
    const sentence = 'Give the list of a new message, or the campaign that is changed.';
    throw new ValidationError({ listUid: [sentence], campaignUid: [sentence] });
  }
  const { id: campaignId, customerId, listName } = await findOwnedCampaign(ctx, campaignUid);
  if (listName !== null) throw campaignListDeleted();
  const stored = await readSource(ctx.db, { customerId, campaignId });
  if (!stored) throw campaignNotFound();
  return { customerId, campaignId, stored: list ? toList(stored, list) : stored };
}

async function readList(ctx: Context, uid: string): Promise<SourceRow> {
  const { customerId, id: listId } = await findOwnedList(ctx, uid);
  const stored = await readListSource(ctx.db, { customerId, listId });
  if (!stored) throw listNotFound();
  return stored;
}

/** The message of a campaign as it is to another list. */
function toList(row: SourceRow, list: SourceRow): SourceRow {
  const { list_id, list_uid, list_name, remind_message, contact, field_defaults } = list;
  return { ...row, list_id, list_uid, list_name, remind_message, contact, field_defaults };
}

function withTexts(row: SourceRow, given: z.output<typeof previewTextsInput>): SourceRow {
  return {
    ...row,
    subject: given.subject ?? row.subject,
    preheader: given.preheader ?? row.preheader,
    from_email: given.fromEmail ?? row.from_email,
    from_name: given.fromName ?? row.from_name,
    reply_to: given.replyTo ?? row.reply_to,
    html: given.html ?? row.html,
    plain: given.plain ?? row.plain,
  };
}
