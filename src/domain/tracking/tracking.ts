/**
 * The nouns of this module: who a link of ours belongs to, and what somebody did with it.
 * This module signs links and records what comes back; it never composes a message and never decides who is mailed.
 */

/** Longest address a tracked link leads to; browsers and servers refuse much longer ones. Longer ones stay untracked. */
export const LINK_URL_BYTES_MAX = 8_000;

/** One recipient of one campaign; campaign 0 is a message that belongs to none (a notice, a confirmation). */
export interface TrackedRecipient {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly campaignId: bigint;
  readonly subscriberId: bigint;
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
