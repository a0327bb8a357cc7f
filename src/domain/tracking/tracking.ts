/**
 * The nouns of this module: the recipient of a link, and what was done with it. This module signs links and records events; it
 * never composes a message and never decides who is mailed.
 */
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { SOURCE_KINDS, type DeliveryKey } from '../source-key.ts';

/** Longest address a tracked link leads to; browsers and servers refuse much longer ones. Longer ones stay untracked. */
export const LINK_URL_BYTES_MAX = 8_000;

/** One message, and the list by which its recipient got it. */
export interface TrackedRecipient extends DeliveryKey {
  readonly listId: bigint;
}

/** A person on a list as the recipient of a campaign; campaign 0: of a message in no ledger (a notification, a confirmation). */
export function recipientOfCampaign({
  customerId,
  campaignId,
  listId,
  subscriberId,
}: CampaignKey & { readonly listId: bigint; readonly subscriberId: bigint }): TrackedRecipient {
  const sourceKind = campaignId === 0n ? SOURCE_KINDS.none : SOURCE_KINDS.campaign;
  return { customerId, sourceKind, sourceId: campaignId, recipientId: subscriberId, occurrence: 0n, listId };
}

/** The content of a click link: recipient, link number and target. */
export interface TrackedClick extends TrackedRecipient {
  readonly linkNo: number;
  /** http or https, normalised: safe as a Location header. */
  readonly url: string;
}

/** The content of a confirmation link. It is valid until `expiresAt`, which is also the subscriber's `pending_until`. */
export interface TrackedConfirmation extends TrackedRecipient {
  /** Whole seconds. */
  readonly expiresAt: Date;
}

/** The visitor, as far as the request shows. */
export interface Visitor {
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** Most likely a program: a scanner, a link preview, a mail proxy. Stored with the event, and counted separately. */
  readonly isMachine: boolean;
  /** A prefetch that nobody sees (HEAD, prefetch): never counted as a click. */
  readonly looksAhead: boolean;
  /** Where the address is, when a GeoIP file knows it. */
  readonly place?: Place | undefined;
}

/** A place by its English names. */
export interface Place {
  readonly country: string;
  readonly region: string | null;
  readonly city: string | null;
}
