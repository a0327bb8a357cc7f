/** What a campaign lacks before it can be sent, files included, and whether it may still be changed. */
import type { Queryable } from '../../db/database.ts';
import { missingInContact } from '../audience/contact-read-model.ts';
import { allowanceOf } from '../billing/plans/allowance.ts';
import type { TransactionContext } from '../context.ts';
import { faultsOf } from '../delivery/campaigns/campaign-files.ts';
import { attachmentsOf } from '../delivery/campaigns/campaign-files-read-model.ts';
import { compileCampaign } from '../delivery/campaigns/campaign-message.ts';
import { findSenderFault } from '../sending/addresses/usable-sender.ts';
import { askVendors, vendorSenderFaults } from '../sending/vendor-senders.ts';
import type { Context } from '../context.ts';
import { EDITABLE } from './campaign-state-store.ts';
import { hasBegun, missingToSend, type Campaign } from './campaign.ts';
import type { SendFault } from './send-fault.ts';

/** Empty when the campaign itself is complete. */
export async function campaignFaults(
  db: Queryable,
  campaign: Pick<Campaign, 'customerId' | 'id' | 'subject' | 'fromEmail' | 'fromName' | 'html' | 'plain'>,
): Promise<SendFault[]> {
  const attachments = faultsOf(await attachmentsOf(db, { customerId: campaign.customerId, campaignId: campaign.id }));
  return [...missingToSend(campaign), ...attachments];
}

/**
 * The list's contact must say who writes from where (D49). The sender may have to be verified. The plan may demand the author's own unsubscribe link; the added one does not replace it.
 */
export async function missingForSending(
  tx: TransactionContext,
  { customerId, id, listId, html, fromEmail }: Campaign,
): Promise<SendFault[]> {
  const fault = await findSenderFault(tx.db, tx.installation, { customerId, email: fromEmail });
  const parts = await missingInContact(tx.db, { customerId, listId });
  const faults: SendFault[] = [
    ...(fault === undefined ? [] : [fault]),
    ...(await vendorSenderFaults(tx, { customerId, campaignId: id, email: fromEmail })),
    ...(parts.length === 0 ? [] : [{ code: 'contact_incomplete', params: { parts } } as const]),
  ];
  if (faults.length > 0) return faults;
  const message = await compileCampaign(tx, { customerId, campaignId: id });
  const { options } = await allowanceOf(tx.db, customerId);
  if (message?.showsUnsubscribe || options.unsubscribe_url_required === 'no') return [];
  return [{ code: 'no_unsubscribe_link', params: { field: html === '' ? 'plain' : 'html' } }];
}

/**
 * Asks the vendors of its servers whether they send for its sender, before the transaction that `missingForSending` is called in: a vendor
 * may take seconds. One that has begun is continued without this check.
 */
export async function askAboutSender(ctx: Context, campaign: Campaign | undefined): Promise<void> {
  if (!campaign || campaign.fromEmail === '' || hasBegun(campaign)) return;
  const { customerId, id: campaignId, fromEmail: email } = campaign;
  await askVendors(ctx, { customerId, campaignId, email });
}

/** The campaign's own faults, else those of its sender or plan; empty: it may be sent. */
export async function lackingForSending(tx: TransactionContext, campaign: Campaign): Promise<SendFault[]> {
  const faults = await campaignFaults(tx.db, campaign);
  return faults.length > 0 ? faults : missingForSending(tx, campaign);
}

/** Once rows are in the ledger its audience is fixed, and soon its content is, too (change-late.ts). */
export function isEditable(campaign: Campaign): boolean {
  return EDITABLE.includes(campaign.status) && !hasBegun(campaign);
}
