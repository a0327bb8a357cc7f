/**
 * The noun: what an external delivery system reports about one of our messages (specification 4.12, decision D41), and possible
 * faults of a report. Without SQL.
 */
import { z } from 'zod';
import { ForeignResourceError, NotFoundError, WrongStateError } from '../../lib/errors.ts';
import { multiLine, optionalLine, singleLine } from '../../lib/text.ts';

export const REPORT_TYPES = ['sent', 'bounced', 'failed', 'abuse', 'reported'] as const;
export type ReportType = (typeof REPORT_TYPES)[number];
export const BOUNCE_TYPES = ['hard', 'soft'] as const;
export type BounceType = (typeof BOUNCE_TYPES)[number];

/** `blocked`: the sender was refused, and nothing is known about the mailbox. `failed`: nothing more is known. */
export interface Bounce {
  readonly type: BounceType | 'blocked' | 'failed';
  /** RFC 3463. */
  readonly statusCode: string | null;
  readonly message: string | null;
}

/** What became of a message, in the words of this module. */
export type ReportedOutcome =
  | { readonly kind: 'arrived' }
  | ({ readonly kind: 'bounce' } & Bounce)
  | { readonly kind: 'complaint'; readonly type: string; readonly message: string | null };

/** A line of a mail header at its longest (RFC 5322). */
const MESSAGE_ID_LENGTH_MAX = 998;
/** Enough of a diagnostic text to understand it; some systems send whole mails. */
export const DESCRIPTION_LENGTH_KEPT = 1_000;
const DESCRIPTION_LENGTH_MAX = 16_384;
/** `abuse`, `fraud`, `virus`, `not-spam`, `other` (RFC 5965) and vendors' own. */
export const REPORT_WORD_LENGTH_MAX = 64;
/**
 * A bounce takes days at most, a complaint seldom weeks. An old report must not be usable against people who were mailed again
 * since.
 */
export const REPORT_AGE_DAYS_MAX = 30;

export const deliveryReportInput = z.object({
  messageId: singleLine(MESSAGE_ID_LENGTH_MAX),
  type: z.enum(REPORT_TYPES),
  /** Without one a bounce is soft: only an explicit type says that an address does not exist. */
  bounceType: z.enum(BOUNCE_TYPES).nullable().optional(),
  reportType: optionalLine(REPORT_WORD_LENGTH_MAX).nullable().optional(),
  description: multiLine(DESCRIPTION_LENGTH_MAX)
    .transform((text) => text.trim().slice(0, DESCRIPTION_LENGTH_KEPT))
    .nullable()
    .optional(),
});

export type DeliveryReportInput = z.input<typeof deliveryReportInput>;
export type DeliveryReport = z.output<typeof deliveryReportInput>;

/** What became of it. */
export interface RecordedReport {
  readonly type: ReportType;
  /** False: it was known already, and nothing changed. */
  readonly changed: boolean;
}

/** What a report says. */
export function reportedOutcomeOf(report: DeliveryReport): ReportedOutcome {
  const message = report.description || null;
  switch (report.type) {
    case 'sent':
      return { kind: 'arrived' };
    case 'bounced':
      return { kind: 'bounce', type: report.bounceType ?? 'soft', statusCode: statusCodeIn(message), message };
    case 'failed':
      return { kind: 'bounce', type: 'failed', statusCode: statusCodeIn(message), message };
    case 'abuse':
    case 'reported':
      return { kind: 'complaint', type: report.reportType || 'abuse', message };
  }
}

/** The type as it is stored: some systems say `spam` for `abuse` (D52). */
export function feedbackTypeOf(type: string): string {
  const word = type.trim().slice(0, REPORT_WORD_LENGTH_MAX);
  return word === '' || word.toLowerCase() === 'spam' ? 'abuse' : word;
}

/** The opposite of a complaint (RFC 6650 leaves it to the receiver): the reader moved the message out of the junk folder. */
export function isNoComplaint(type: string): boolean {
  return type.toLowerCase() === 'not-spam';
}

const NO_MESSAGE = ['MESSAGE_NOT_FOUND', 'No message of yours has this id.'] as const;

export function messageNotFound(): NotFoundError {
  return new NotFoundError(...NO_MESSAGE);
}

/** With the text of the error above. */
export function foreignMessage(): ForeignResourceError {
  return new ForeignResourceError(...NO_MESSAGE);
}

export function reportTooOld(): WrongStateError {
  return new WrongStateError(
    'REPORT_TOO_OLD',
    `This message is older than ${REPORT_AGE_DAYS_MAX} days: reports about it are not accepted any more.`,
  );
}

export function messageNotSent(): WrongStateError {
  return new WrongStateError(
    'MESSAGE_NOT_SENT',
    'This message has not been sent yet, so there can be no report about it.',
  );
}

/** "Description: 5.1.1 unknown user" -> `5.1.1` (RFC 3463); null when there is none. */
export function statusCodeIn(description: string | null | undefined): string | null {
  return /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.])/.exec(description ?? '')?.[0] ?? null;
}
