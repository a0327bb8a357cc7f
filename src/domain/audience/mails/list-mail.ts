/**
 * The mails that a list sends automatically: their kinds, what an owner may change, and limits. The built-in texts are in
 * `built-in-mails.ts`.
 */
import { z } from 'zod';
import { multiLine, singleLine } from '../../../lib/text.ts';
import { SUBJECT_MAX } from '../list-fields.ts';

/**
 * `confirmation` asks a pending person, `welcome` greets a new subscriber, `goodbye` confirms an unsubscription,
 * `unsubscribe-notification` tells the list's owner who left.
 */
export const LIST_MAIL_KINDS = ['confirmation', 'welcome', 'goodbye', 'unsubscribe-notification'] as const;
export type ListMailKind = (typeof LIST_MAIL_KINDS)[number];

/** Kinds that go to a person on the list. */
export type PersonMailKind = Exclude<ListMailKind, 'unsubscribe-notification'>;

export interface MailTexts {
  readonly subject: string;
  readonly html: string;
  /** Empty: made from the html. */
  readonly plain: string;
}

export interface ListMail extends MailTexts {
  readonly kind: ListMailKind;
  /** When its owner changed it; null: the built-in texts. */
  readonly changedAt: Date | null;
}

/** These mails are short; a tenth of a campaign's limit is enough, and each is compiled for every person. */
export const MAIL_HTML_MAX = 102_400;
const MAIL_PLAIN_MAX = 51_200;

export const listMailKind = z.enum(LIST_MAIL_KINDS);

export const mailTextsInput = z.object({
  subject: singleLine(SUBJECT_MAX),
  html: multiLine(MAIL_HTML_MAX).refine((html) => html.trim() !== '', 'must not be empty'),
  plain: multiLine(MAIL_PLAIN_MAX),
});

/** Tags of the mail to the owner, besides the built-in ones: how many left, and who, one per line. */
export const NOTIFICATION_TAGS = { UNSUBSCRIBE_COUNT: '0', UNSUBSCRIBED_PEOPLE: '' } as const;
