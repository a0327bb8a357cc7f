/**
 * The noun: what a mail that came back says about a message of ours. This module reads such mails, fetches them from
 * mailboxes and takes vendors' webhooks; what follows from a report is decided in tracking (report-on-delivery.ts).
 */

/** What a bounce says about the address: see `MailVerdict`. */
export type BounceClass = 'hard' | 'soft' | 'blocked';

/**
 * - `hard`: nobody is at this address; `soft`: its mailbox did not take the message this time; `blocked`: the sender or
 *   the message was refused, which says nothing about the mailbox.
 * - `delayed`: it is still being tried. `complaint`: the reader called it unwanted.
 * - `autoReply`: out of office and the like. `none`: anything else (a receipt, a delivery's success, a person).
 */
export type MailVerdict = BounceClass | 'delayed' | 'complaint' | 'autoReply' | 'none';

export interface MailReport {
  readonly verdict: MailVerdict;
  /** RFC 3463, where a bounce gave one. */
  readonly statusCode: string | null;
  /** What the refusing system said, on one line. Of a complaint its kind: `abuse`. */
  readonly message: string | null;
  /**
   * Texts in which our own marks may stand, the most trustworthy first: the headers of the report, those of the message
   * that it is about, then its text.
   */
  readonly marks: readonly string[];
}

/** Bounces that carry the whole message hold what matters in their first pieces; the rest is not looked at. */
export const MAIL_BYTES_READ = 262_144;
