/**
 * Adds headers and attachments to a message that was filled: what only this copy has. The message itself stays compiled once for all.
 */
import { randomUUID } from 'node:crypto';
import { ValidationError } from '../../lib/errors.ts';
import { encodeAttachment } from './compile-files.ts';
import { MESSAGE_BYTES_MAX, type MessageFile } from './message-files.ts';

/** The last header of our own; those of the content follow. */
const END_OF_OWN = Buffer.from('MIME-Version: 1.0\r\n');

/**
 * The message with these header lines before its own, and with the files after its texts (multipart/mixed). Throws ValidationError on
 * `attachments` when mailboxes do not take so much.
 */
export function wrapMessage(
  content: Buffer,
  { headers, files }: { readonly headers: readonly string[]; readonly files: readonly MessageFile[] },
): Buffer {
  const added = Buffer.from(headers.join(''), 'latin1');
  if (files.length === 0) return added.length === 0 ? content : Buffer.concat([added, content]);
  const end = content.indexOf(END_OF_OWN) + END_OF_OWN.length;
  // `=_` can occur neither in quoted-printable text nor in base64.
  const boundary = `=_mw_${randomUUID().replaceAll('-', '')}`;
  const opening = `Content-Type: multipart/mixed;\r\n boundary="${boundary}"\r\n\r\n--${boundary}\r\n`;
  const whole = Buffer.concat([
    ...[added, content.subarray(0, end), Buffer.from(opening), content.subarray(end)],
    ...files.flatMap((file) => encodeAttachment(file, { delimiter: boundary })),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  if (whole.length <= MESSAGE_BYTES_MAX) return whole;
  const megabytes = MESSAGE_BYTES_MAX / 1_048_576;
  throw new ValidationError({
    attachments: [`With its files, the message is larger than the ${megabytes} MB that mailboxes accept.`],
  });
}
