/** Attaches uploaded files to a campaign, and detaches them: they are sent with every copy of its message. */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { optionalLine, parseInput, singleLine } from '../../lib/text.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { isInlineImage, isRefusedFile, MESSAGE_FILE_BYTES_MAX } from '../content/message-files.ts';
import { faultsOf, fileFaultText } from '../delivery/campaigns/campaign-files.ts';
import { attachmentsOf, type Attachment } from '../delivery/campaigns/campaign-files-read-model.ts';
import { findOwnedFile } from '../files/file-store.ts';
import { placeOf, type StoredFile } from '../files/file.ts';
import { deleteAttachment, putAttachment } from './campaign-attachment-store.ts';
import { attachmentNotFound, wrongCampaignState } from './campaign-errors.ts';
import { campaignFaults } from './campaign-readiness.ts';
import { writeCampaign } from './campaign-store.ts';
import type { Campaign } from './campaign.ts';
import { mayChangeContent } from './change-late.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { followContent } from './update-campaign.ts';

const NAME_LENGTH_MAX = 200;

export const attachFileInput = z.object({
  uid: singleLine(64),
  fileUid: singleLine(64),
  /** The name that recipients see; absent: the file's own name. */
  name: optionalLine(NAME_LENGTH_MAX).nullable().optional(),
  inline: z.boolean().nullable().optional(),
});

export type AttachFileInput = z.input<typeof attachFileInput>;

/**
 * Attaches the file; one of the same name is replaced. Inline ones are pictures that the html shows as `cid:<name>`. Throws
 * ValidationError (`ATTACHMENT_REFUSED`, on `fileUid`, `name`, `attachments`), CAMPAIGN_WRONG_STATE once the message was sent to
 * anybody, unless it replaces one whose file was deleted; NotFoundError, ForeignResourceError.
 */
export async function attachFile(ctx: Context, given: AttachFileInput): Promise<{ uid: string }> {
  const parsed = parseInput(attachFileInput, given);
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, parsed.uid, { lock: true });
    const file = await findOwnedFile(tx, parsed.fileUid);
    const isInline = parsed.inline ?? false;
    const name = attachedName(file, { name: parsed.name, isInline });
    if (!(await mayChange(tx, campaign, (attachment) => attachment.name === name)))
      throw wrongCampaignState('changed', campaign.status);
    await putAttachment(tx.db, { campaign, fileId: file.id, name, isInline });
    const faults = faultsOf(await attachmentsOf(tx.db, { customerId: campaign.customerId, campaignId: campaign.id }));
    const tooMuch = faults.filter(({ code }) => code !== 'attachment_missing');
    if (tooMuch.length > 0) throw refused('attachments', tooMuch.map(fileFaultText).join(' '));
    await settleStatus(tx, campaign);
    return { uid: campaign.uid };
  });
}

/** Detaches it. Throws NotFoundError `ATTACHMENT_NOT_FOUND`, and what attaching throws. */
export async function detachFile(
  ctx: Context,
  { uid, attachmentUid }: { uid: string; attachmentUid: string },
): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const campaign = await findOwnedCampaign(tx, uid, { lock: true });
    if (!(await mayChange(tx, campaign, ({ uid }) => uid === attachmentUid)))
      throw wrongCampaignState('changed', campaign.status);
    if (!(await deleteAttachment(tx.db, campaign, attachmentUid))) throw attachmentNotFound();
    await settleStatus(tx, campaign);
    return { uid: campaign.uid };
  });
}

/** Checks that the file may be sent, and returns its name in the message. */
function attachedName(file: StoredFile, given: { name: string | null | undefined; isInline: boolean }): string {
  if (file.status !== 'ready') throw refused('fileUid', 'The upload of this file is not complete.');
  if (file.sizeBytes > MESSAGE_FILE_BYTES_MAX)
    throw refused('fileUid', `An attachment may have ${MESSAGE_FILE_BYTES_MAX / 1_048_576} MB.`);
  const { name } = placeOf({ name: given.name || file.name });
  if (isRefusedFile({ name, type: file.contentType }) || isRefusedFile({ name: file.name, type: file.contentType }))
    throw refused('fileUid', `Mailbox providers refuse mail with files like "${name}".`);
  if (given.isInline && !isInlineImage(file.contentType))
    throw refused('inline', 'Only PNG, JPEG, GIF, WebP, AVIF and BMP pictures are shown in a mail.');
  return name;
}

/** A missing file may be replaced or detached at any time, except while the campaign is sent. */
async function mayChange(
  tx: TransactionContext,
  campaign: Campaign,
  isMeant: (attachment: Attachment) => boolean,
): Promise<boolean> {
  if (await mayChangeContent(tx, campaign)) return true;
  if (campaign.status !== 'paused') return false;
  const attachments = await attachmentsOf(tx.db, { customerId: campaign.customerId, campaignId: campaign.id });
  return attachments.some((one) => one.file === null && isMeant(one));
}

/** Sets the status that follows from the present content; processes compile the message again. */
async function settleStatus(tx: TransactionContext, campaign: Campaign): Promise<void> {
  const isComplete = (await campaignFaults(tx.db, campaign)).length === 0;
  await writeCampaign(tx.db, campaign, {});
  await followContent(tx, campaign, { isComplete, hasTime: campaign.deliveryAt !== null });
}

function refused(field: string, sentence: string): ValidationError {
  return new ValidationError({ [field]: [sentence] }, 'ATTACHMENT_REFUSED');
}
