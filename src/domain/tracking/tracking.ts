/**
 * The nouns of this module: who a link of ours belongs to, and what somebody did with it.
 * This module signs links and records what comes back; it never composes a message and never decides who is mailed.
 */
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { SOURCE_KINDS, type DeliveryKey } from '../source-key.ts';

/** Longest address a tracked link leads to; browsers and servers refuse much longer ones. Longer ones stay untracked. */
export const LINK_URL_BYTES_MAX = 8_000;

/** One message, and the list by which its recipient got it. */
export interface TrackedRecipient extends DeliveryKey {
  readonly listId: bigint;
}

/** A person on a list as the recipient of a campaign; campaign 0: of a message that is in no ledger (a notice, a confirmation). */
export function recipientOfCampaign({
  customerId,
  campaignId,
  listId,
  subscriberId,
}: CampaignKey & { readonly listId: bigint; readonly subscriberId: bigint }): TrackedRecipient {
  const sourceKind = campaignId === 0n ? SOURCE_KINDS.none : SOURCE_KINDS.campaign;
  return { customerId, sourceKind, sourceId: campaignId, recipientId: subscriberId, occurrence: 0n, listId };
}

/** What a click link says: whose it is, which link of the message, and where it leads. */
export interface TrackedClick extends TrackedRecipient {
  readonly linkNo: number;
  /** http or https, normalised: safe as a Location header. */
  readonly url: string;
}

/** What a confirmation link says. It works until `expiresAt`, which is also the subscriber's `pending_until`. */
export interface TrackedConfirmation extends TrackedRecipient {
  /** Whole seconds. */
  readonly expiresAt: Date;
}

/** Who asks, as far as the request says. */
export interface Visitor {
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** Most likely a program: a scanner, a link preview, a mail proxy. Kept with the event, and counted apart. */
  readonly isMachine: boolean;
  /** Asked without showing it to anybody (HEAD, prefetch): never counted as a click. */
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
