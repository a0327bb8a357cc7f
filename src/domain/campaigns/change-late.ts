/**
 * What may still change of a campaign that has begun (decision D22): how a paused one deals with trouble and which way it
 * goes, at any time; its content, as long as nobody has got the message.
 */
import type { TransactionContext } from '../context.ts';
import { compileCampaign } from '../delivery/campaign-message.ts';
import { isUnsent } from '../delivery/ledger-read-model.ts';
import { registerCampaignLinks } from '../statistics/campaign-toplists.ts';
import { campaignNotReady } from './campaign-errors.ts';
import type { UpdateCampaignInput } from './campaign-input.ts';
import { isEditable, lackingForSending } from './campaign-readiness.ts';
import type { CampaignStatus } from './campaign-state.ts';
import { findCampaignById, lockContent } from './campaign-store.ts';
import type { Campaign } from './campaign.ts';
import { fieldsOf } from './send-fault.ts';

const CHANGEABLE_LATE: Partial<Record<CampaignStatus, readonly string[]>> = {
  done: ['name'],
  paused: ['skipFailedMessages', 'unknownPolicy', 'sendingServers'],
};

const CONTENT: ReadonlySet<string> = new Set([
  ...['name', 'subject', 'fromEmail', 'fromName', 'replyTo', 'html', 'plain'],
  ...['trackOpen', 'trackClick', 'signDkim', 'embedImages'],
]);

export async function mayChangeLate(
  tx: TransactionContext,
  campaign: Campaign,
  input: UpdateCampaignInput,
): Promise<boolean> {
  const given = namesGiven(input);
  const others = given.filter((name) => !CHANGEABLE_LATE[campaign.status]?.includes(name));
  if (others.length === 0) return given.length > 0;
  return others.every((name) => CONTENT.has(name)) && (await mayChangeContent(tx, campaign));
}

/** Also of one that has begun, while it is paused and nobody has got its message. */
export async function mayChangeContent(tx: TransactionContext, campaign: Campaign): Promise<boolean> {
  if (isEditable(campaign)) return true;
  const { customerId, id: campaignId, plannedOn, status } = campaign;
  if (status !== 'paused' || plannedOn === null) return false;
  const key = { customerId, campaignId, plannedOn };
  await lockContent(tx.db, campaign);
  return isUnsent(tx.db, key);
}

export function isContent(input: UpdateCampaignInput): boolean {
  return namesGiven(input).some((name) => CONTENT.has(name));
}

/**
 * Checks what was written as a start would, since going on asks no more questions, and shows its links. Throws
 * CAMPAIGN_NOT_READY.
 */
export async function takeLateContent(
  tx: TransactionContext,
  { customerId, id: campaignId, status }: Campaign,
): Promise<void> {
  const campaign = await findCampaignById(tx.db, customerId, campaignId);
  if (!campaign || status !== 'paused') return;
  const lacking = await lackingForSending(tx, campaign);
  if (lacking.length > 0) throw campaignNotReady(fieldsOf(lacking));
  const message = await compileCampaign(tx.db, { customerId, campaignId });
  if (message) await registerCampaignLinks(tx, { customerId, campaignId, links: message.links });
}

function namesGiven(input: UpdateCampaignInput): string[] {
  return Object.entries(input).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
