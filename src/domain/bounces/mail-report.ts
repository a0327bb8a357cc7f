/**
 * The noun: what a returned mail says about one of our messages. This module reads such mails, fetches them from mailboxes and
 * takes vendors' webhooks; tracking (report-on-delivery.ts) decides what follows.
 */

/** What a bounce says about the address: see `MailVerdict`. */
export type BounceClass = 'hard' | 'soft' | 'blocked';

/**
 * - `hard`: the address does not exist; `soft`: its mailbox did not take the message this time; `blocked`: the sender or
 *   the message was refused, which says nothing about the mailbox.
 * - `delayed`: it is still being tried. `complaint`: the reader reported it as unwanted.
 * - `autoReply`: out of office and the like. `none`: anything else (a receipt, a delivery's success, a person).
 */
export type MailVerdict = BounceClass | 'delayed' | 'complaint' | 'autoReply' | 'none';

export interface MailReport {
  readonly verdict: MailVerdict;
  /** RFC 3463, where a bounce gave one. */
  readonly statusCode: string | null;
  /** The refusing system's text, on one line. For a complaint its type: `abuse`. */
  readonly message: string | null;
  /** It is no report, no receipt and no automatic answer: somebody, or a program on somebody's behalf, wrote to the address. */
  readonly isWritten: boolean;
  /** The headers that name its recipients: a mailbox does not tell to which of its addresses a mail came. */
  readonly addressedTo: readonly string[];
  /**
   * Texts that may contain our signed references, the most trustworthy first: the headers of the report, those of the quoted
   * message, then its text.
   */
  readonly marks: readonly string[];
}

/** A bounce with the whole message has the important parts at its beginning; the rest is not read. */
export const MAIL_BYTES_READ = 262_144;
