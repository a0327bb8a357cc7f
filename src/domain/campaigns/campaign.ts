/**
 * The noun of this module: a campaign, one mailing to one list. Its states: campaign-state-store.ts. This module takes the
 * audience snapshot, schedules, starts, pauses and finishes; it never hands a message over.
 */
import type { CampaignRow } from './campaign-fields.ts';
import type { SendFault } from './send-fault.ts';

/** A campaign as the verbs of this module see it. */
export type Campaign = CampaignRow;

/** Whether rows are in its ledger, or there are known to be none: from then on audience and content are fixed. */
export function hasBegun({ snapshotCursor, snapshotAt }: Pick<Campaign, 'snapshotCursor' | 'snapshotAt'>): boolean {
  return snapshotCursor > 0n || snapshotAt !== null;
}

/** What a campaign lacks before it can be sent; empty when it is ready. */
export function missingToSend(
  campaign: Pick<Campaign, 'subject' | 'fromEmail' | 'fromName' | 'html' | 'plain'>,
): SendFault[] {
  const faults: SendFault[] = [];
  if (campaign.subject === '') faults.push({ code: 'no_subject', params: {} });
  if (campaign.fromEmail === '') faults.push({ code: 'no_from_email', params: {} });
  if (campaign.fromName === '') faults.push({ code: 'no_from_name', params: {} });
  if (campaign.html === '' && campaign.plain === '') faults.push({ code: 'no_content', params: {} });
  return faults;
}
