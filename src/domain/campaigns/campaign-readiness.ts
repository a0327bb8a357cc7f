/** What a campaign lacks before it can be sent, its files included, and whether it may still be changed. */
import type { Queryable } from '../../db/database.ts';
import { attachmentsOf, faultsOf } from '../delivery/campaign-files.ts';
import { EDITABLE, hasBegun, missingToSend, type Campaign } from './campaign.ts';

/** Field to sentences; empty when nothing of the campaign itself is in the way. */
export async function campaignFaults(
  db: Queryable,
  campaign: Pick<Campaign, 'customerId' | 'id' | 'subject' | 'fromEmail' | 'fromName' | 'html' | 'plain'>,
): Promise<Record<string, string[]>> {
  const missing = missingToSend(campaign);
  const attachments = faultsOf(await attachmentsOf(db, { customerId: campaign.customerId, campaignId: campaign.id }));
  return attachments.length === 0 ? missing : { ...missing, attachments };
}

/** Once rows are in the ledger its audience and content are fixed: whoever was mailed got what is shown. */
export function isEditable(campaign: Campaign): boolean {
  return EDITABLE.includes(campaign.status) && !hasBegun(campaign);
}
