/**
 * What may still change in a campaign that has begun (decision D22): its policies and servers while it is paused, at any time;
 * its content, as long as nobody has got the message.
 */
import type { Context, TransactionContext } from '../context.ts';
import { compileCampaign } from '../delivery/campaigns/campaign-message.ts';
import { ledgerOfCampaign } from '../delivery/ledger/delivery.ts';
import { isUnsent } from '../delivery/ledger/ledger-read-model.ts';
import { askVendors } from '../sending/vendor-senders.ts';
import { registerCampaignLinks } from '../statistics/link-counter-store.ts';
import { campaignNotReady } from './campaign-errors.ts';
import { lateChangesOf, type UpdateCampaignInput } from './campaign-fields.ts';
import { isEditable, lackingForSending } from './campaign-readiness.ts';
import { lockContent } from './campaign-store.ts';
import { hasBegun, type Campaign } from './campaign.ts';
import { findOwnedCampaign } from './find-owned-campaign.ts';
import { fieldsOf } from './send-fault.ts';

export async function mayChangeLate(
  tx: TransactionContext,
  campaign: Campaign,
  input: UpdateCampaignInput,
): Promise<boolean> {
  const given = namesGiven(input);
  const others = given.filter((name) => !lateChangesOf(name).includes(campaign.status));
  if (others.length === 0) return given.length > 0;
  return others.every((name) => lateChangesOf(name).includes('unsent')) && (await mayChangeContent(tx, campaign));
}

/** Also for one that has begun, while it is paused and nobody has got its message. */
export async function mayChangeContent(tx: TransactionContext, campaign: Campaign): Promise<boolean> {
  if (isEditable(campaign)) return true;
  const { customerId, id: campaignId, snapshotOn, status } = campaign;
  if (status !== 'paused' || snapshotOn === null) return false;
  const key = ledgerOfCampaign({ customerId, campaignId, snapshotOn });
  await lockContent(tx.db, campaign);
  return isUnsent(tx.db, key);
}

export function isContent(input: UpdateCampaignInput): boolean {
  return namesGiven(input).some((name) => lateChangesOf(name).includes('unsent'));
}

/** Before the transaction in which `takeLateContent` is called, as `askAboutSender` before a start. */
export async function askAboutLateSender(ctx: Context, uid: string, input: UpdateCampaignInput): Promise<void> {
  if (ctx.tx || !isContent(input)) return;
  const { customerId, id: campaignId, fromEmail, ...campaign } = await findOwnedCampaign(ctx, uid);
  if (campaign.status !== 'paused' || !hasBegun(campaign)) return;
  await askVendors(ctx, { customerId, campaignId, email: input.fromEmail ?? fromEmail });
}

/**
 * Checks the changed content like a start would, since resuming does not check again, and registers its links. Throws
 * CAMPAIGN_NOT_READY.
 */
export async function takeLateContent(tx: TransactionContext, campaign: Campaign): Promise<void> {
  if (campaign.status !== 'paused') return;
  const lacking = await lackingForSending(tx, campaign);
  if (lacking.length > 0) throw campaignNotReady(fieldsOf(lacking));
  const { customerId, id: campaignId } = campaign;
  const message = await compileCampaign(tx, { customerId, campaignId });
  if (message) await registerCampaignLinks(tx, { customerId, campaignId, links: message.links });
}

function namesGiven(input: UpdateCampaignInput): string[] {
  return Object.entries(input).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
