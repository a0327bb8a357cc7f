/**
 * The noun of this room: a campaign, one mailing to one list, and the states it goes through (decision D21).
 * This room plans, schedules, starts, pauses and finishes; it never hands a message over.
 */
import type { SegmentSnapshot } from '../audience/segments/segment.ts';

/**
 * new (something needed to send is missing) or ready -> scheduled -> queued (audience being planned) -> sending ->
 * done; paused from scheduled, queued or sending; error when it cannot go on by itself.
 */
export const campaignStatuses = ['new', 'ready', 'scheduled', 'queued', 'sending', 'paused', 'done', 'error'] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

/** Statuses in which a campaign is under way: it cannot be deleted, its content cannot change. */
export const UNDER_WAY: readonly CampaignStatus[] = ['queued', 'sending'];
/** Statuses that `pause` takes. */
export const PAUSABLE: readonly CampaignStatus[] = ['scheduled', 'queued', 'sending'];
/** Statuses in which content may still change; a paused one only while nothing was sent (decision D22). */
export const EDITABLE: readonly CampaignStatus[] = ['new', 'ready', 'scheduled', 'paused', 'error'];

/** A campaign's row as the verbs of this room see it. */
export interface Campaign {
  readonly id: bigint;
  readonly uid: string;
  readonly customerId: bigint;
  readonly listId: bigint;
  /** Null: everybody on the list. */
  readonly segmentId: bigint | null;
  /** The segment as it was at the start; the audience is planned by it. */
  readonly segmentSnapshot: SegmentSnapshot | null;
  readonly name: string;
  readonly subject: string;
  readonly fromEmail: string;
  readonly fromName: string;
  readonly html: string;
  readonly plain: string;
  readonly status: CampaignStatus;
  readonly deliveryAt: Date | null;
  /** YYYY-MM-DD, once it was started. */
  readonly plannedOn: string | null;
  readonly planCursor: bigint;
  readonly plannedAt: Date | null;
}

/** Whether anybody is in its ledger, or it is known that nobody will be: from then on audience and content are fixed. */
export function hasBegun({ planCursor, plannedAt }: Pick<Campaign, 'planCursor' | 'plannedAt'>): boolean {
  return planCursor > 0n || plannedAt !== null;
}

/** What a campaign still lacks before it can be sent: field to sentence; empty when it is ready. */
export function missingToSend(
  campaign: Pick<Campaign, 'subject' | 'fromEmail' | 'fromName' | 'html' | 'plain'>,
): Record<string, string[]> {
  const missing: Record<string, string[]> = {};
  if (campaign.subject === '') missing['subject'] = ['The subject field is required.'];
  if (campaign.fromEmail === '') missing['from_email'] = ['The from email field is required.'];
  if (campaign.fromName === '') missing['from_name'] = ['The from name field is required.'];
  if (campaign.html === '' && campaign.plain === '')
    missing['html'] = ['The html field is required when plain is empty.'];
  return missing;
}
