/** What a campaign lacks before it can be sent, its files included, and whether it may still be changed. */
import type { Queryable } from '../../db/database.ts';
import { allowanceOf } from '../billing/allowance.ts';
import type { TransactionContext } from '../context.ts';
import { faultsOf } from '../delivery/campaign-files.ts';
import { attachmentsOf } from '../delivery/campaign-files-read-model.ts';
import { compileCampaign } from '../delivery/campaign-message.ts';
import { findSenderFault } from '../sending/addresses/usable-sender.ts';
import { EDITABLE } from './campaign-state-store.ts';
import { hasBegun, missingToSend, type Campaign } from './campaign.ts';
import type { SendFault } from './send-fault.ts';

/** Empty when nothing of the campaign itself is in the way. */
export async function campaignFaults(
  db: Queryable,
  campaign: Pick<Campaign, 'customerId' | 'id' | 'subject' | 'fromEmail' | 'fromName' | 'html' | 'plain'>,
): Promise<SendFault[]> {
  const attachments = faultsOf(await attachmentsOf(db, { customerId: campaign.customerId, campaignId: campaign.id }));
  return [...missingToSend(campaign), ...attachments];
}

/**
 * The sender may have to be verified. The plan may ask for the author's own unsubscribe link; the one that is added by
 * itself does not make up for it.
 */
export async function missingForSending(
  tx: TransactionContext,
  { customerId, id, html, fromEmail }: Campaign,
): Promise<SendFault[]> {
  const fault = await findSenderFault(tx.db, tx.installation, { customerId, email: fromEmail });
  if (fault !== undefined) return [fault];
  const message = await compileCampaign(tx.db, { customerId, campaignId: id });
  const { options } = await allowanceOf(tx.db, customerId);
  if (message?.showsUnsubscribe || options.unsubscribe_url_required === 'no') return [];
  return [{ code: 'no_unsubscribe_link', params: { field: html === '' ? 'plain' : 'html' } }];
}

/** What the campaign itself lacks, else what its sender or the plan do; empty: it may be sent. */
export async function lackingForSending(tx: TransactionContext, campaign: Campaign): Promise<SendFault[]> {
  const faults = await campaignFaults(tx.db, campaign);
  return faults.length > 0 ? faults : missingForSending(tx, campaign);
}

/** Once rows are in the ledger its audience is fixed, and soon its content is, too (change-late.ts). */
export function isEditable(campaign: Campaign): boolean {
  return EDITABLE.includes(campaign.status) && !hasBegun(campaign);
}
