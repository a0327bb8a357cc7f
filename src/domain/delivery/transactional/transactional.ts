/**
 * The noun of this folder: a transactional mail (decision D94). A program sends it to one address, mostly because of what its reader
 * has just done. It is a message of the queue (domain/messages) with a row in the ledger; this folder accepts, composes and shows it.
 */
import { z } from 'zod';
import { mailData } from '../../content/mail-data.ts';
import { optionalLine, emailAddress, singleLine } from '../../../lib/text.ts';
import { given, textChecks } from '../../content/text-checks.ts';
import { MESSAGE_FILES_MAX } from '../../content/message-files.ts';
import { mailHeaders } from './mail-header.ts';

/** Of one call: each is a row, and an answer. A mail to more people is a campaign. */
export const RECIPIENTS_MAX = 50;
export const TAGS_MAX = 10;
const TAG_LENGTH_MAX = 64;
/** A UUID has 36 characters; it may also be a number of an order with a prefix. */
const EXTERNAL_ID_LENGTH_MAX = 200;
/** Its content is kept until it is sent; later times are mistakes in the year. */
export const SCHEDULE_DAYS_MAX = 30;
const DAY_MS = 86_400_000;
const UID_LENGTH_MAX = 64;
const FILE_NAME_LENGTH_MAX = 200;
const SENDER_NAME_LENGTH_MAX = 255;
/** Texts and files in base64 are stored for each recipient, so that all of one can be erased. */
export const STORED_BYTES_MAX = 33_554_432;
/** Bytes of a customer's attachments that are kept at once, mostly for 7 days: a program gone wrong must not fill the disk of all customers. */
export const KEPT_BYTES_MAX = 2_147_483_648;
/** More than an hour's work of a process: then something is wrong with its servers, and its program should wait. */
export const WAITING_MAX = 100_000;

const uid = optionalLine(UID_LENGTH_MAX).nullish();

const sendAt = z
  .date()
  .refine(
    (at) => at.getTime() < Date.now() + SCHEDULE_DAYS_MAX * DAY_MS,
    `must be within the next ${SCHEDULE_DAYS_MAX} days`,
  );

export const recipientInput = z.object({ email: emailAddress(), data: mailData.nullish() });
export const attachmentInput = z.object({
  name: singleLine(FILE_NAME_LENGTH_MAX),
  content: z.custom<Uint8Array>((value) => value instanceof Uint8Array),
});

export const sendTransactionalInput = z.object({
  to: z.array(recipientInput).min(1).max(RECIPIENTS_MAX),
  templateUid: uid,
  ...textChecks,
  fromEmail: given(z.union([z.literal(''), emailAddress()])),
  fromName: given(optionalLine(SENDER_NAME_LENGTH_MAX)),
  replyTo: given(z.union([z.literal(''), emailAddress()])),
  listUid: uid,
  data: mailData.nullish(),
  headers: mailHeaders.nullish(),
  attachments: z.array(attachmentInput).max(MESSAGE_FILES_MAX).nullish(),
  fileUids: z.array(singleLine(UID_LENGTH_MAX)).max(MESSAGE_FILES_MAX).nullish(),
  tags: z.array(singleLine(TAG_LENGTH_MAX)).max(TAGS_MAX).nullish(),
  externalId: optionalLine(EXTERNAL_ID_LENGTH_MAX).nullish(),
  sendAt: sendAt.nullish(),
  trackOpens: z.boolean().nullish(),
  trackClicks: z.boolean().nullish(),
  upsertSubscriber: z.boolean().nullish(),
});

export type SendTransactionalInput = z.input<typeof sendTransactionalInput>;
export type MailInput = z.output<typeof sendTransactionalInput>;

/** What the log is filtered by. */
export const mailFilterInput = z.object({
  email: emailAddress().nullish(),
  templateUid: uid,
  tag: optionalLine(TAG_LENGTH_MAX).nullish(),
  externalId: optionalLine(EXTERNAL_ID_LENGTH_MAX).nullish(),
});

/** What is stored of a mail to compose it; that of the template is read when it is sent. */
export const mailContent = z.object({
  /** Null: the texts are the template's, whose id is that of the source. */
  texts: z.object({ subject: z.string(), preheader: z.string(), html: z.string(), plain: z.string() }).nullable(),
  from: z.object({ name: z.string(), email: z.string() }),
  replyTo: z.string().nullable(),
  data: mailData,
  headers: z.array(z.tuple([z.string(), z.string()])),
  trackOpens: z.boolean(),
  trackClicks: z.boolean(),
  hasFiles: z.boolean(),
});
export type MailContent = z.output<typeof mailContent>;

/**
 * What became of a recipient of a call. `suppressed`: nothing is sent, for the reason beside it. `duplicate`: the address has a mail
 * with this `external_id` already, which is the one named.
 */
export type AcceptedState = 'accepted' | 'scheduled' | 'suppressed' | 'duplicate';

export interface AcceptedMail {
  readonly email: string;
  /** Null: there is no row of the log, because a list is needed and the address is not on it. */
  readonly id: bigint | null;
  readonly state: AcceptedState;
  /** Of `suppressed`: `bounce`, `complaint`, `manual`, `erased`, the status on the list, or `not_on_list`. */
  readonly reason: string | null;
}
