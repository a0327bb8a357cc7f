/**
 * A message as Brevo's interface takes it. It composes the mail itself: with a Message-ID of its own, images of the HTML as ordinary
 * attachments, and the type of a file by its name only. It knows neither an envelope sender nor a switch for tracking.
 */
import {
  hideBraces,
  htmlOfText,
  type MessageAddress,
  type MessageFile,
  type MessageParts,
} from '../../../src/plugin-api/index.ts';
import { ownIdHeader } from './own-id.ts';

/** What it takes of a name. */
const NAME_LENGTH_MAX = 70;
/** A line of a header has at most 75 characters for one encoded word (RFC 2047). */
const ENCODED_BYTES_MAX = 45;
const NOT_ASCII = /[^\x20-\x7e]/;
/** Signs for which a name in a header has to be quoted. */
const SPECIALS = /[()<>[\]:;@\\,."]/g;
/** Brevo decodes such a word in a header, and sends its letters as raw bytes then. */
const ENCODED_WORD = /=\?[^?\s]{1,40}\?[bq]\?[^?\s]{0,100}\?=/gi;
/** It gives a Message-ID itself. */
const NOT_OURS_TO_SET = /^(?:message-id|x-mailin-custom)$/i;

/** The beginning of `{{ value }}`, `{% tag %}` or `{# comment #}` in its template language, which it reads in subject, HTML and text. */
const TEMPLATE = /\{(?=[{%#])/g;
const BRACE = 'mailwright_brace';

export function brevoMessage(parts: MessageParts, idempotencyKey: string): object {
  const { subject, text, html, files, replyTo } = parts;
  const written = { subject: asWritten(subject), textContent: text === null ? undefined : asWritten(text) };
  const isTemplate = written.subject !== subject || (text !== null && written.textContent !== text);
  return {
    sender: named(parts.from, encodedName),
    to: [named(parts.to, encodedName)],
    ...(replyTo && { replyTo: named(replyTo, plainName) }),
    ...written,
    // It refuses a mail without HTML.
    htmlContent: hideBraces(html ?? htmlOfText(text ?? ''), TEMPLATE),
    ...(isTemplate && { params: { [BRACE]: '{' } }),
    headers: Object.fromEntries([...headersOf(parts), ownIdHeader(idempotencyKey)]),
    ...(files.length > 0 && { attachment: files.map((file) => attachmentOf(file)) }),
  };
}

/** A text knows no entities: the brace comes as a value of the template. */
function asWritten(text: string): string {
  return text.replace(TEMPLATE, `{{ params.${BRACE} }}`);
}

/** Brevo writes values as they are, and letters outside ASCII make a mail that some servers refuse: they are left out. */
function headersOf({ headers }: MessageParts): (readonly [string, string])[] {
  return headers
    .filter(([name]) => !NOT_OURS_TO_SET.test(name))
    .map(([name, value]) => [name, asciiOf(value.replace(ENCODED_WORD, '')).trim()] as const)
    .filter(([, value]) => value !== '');
}

function asciiOf(text: string): string {
  return text.normalize('NFKD').replace(/[^\x20-\x7e]/g, '');
}

function named({ name, email }: MessageAddress, write: (name: string) => string): object {
  const written = name === '' ? '' : write(name);
  return written === '' ? { email } : { email, name: written };
}

/** Brevo drops a name with both letters outside ASCII and special signs, unless it is encoded already. */
function encodedName(name: string): string {
  if (!NOT_ASCII.test(name) || name.search(SPECIALS) < 0) return shortened(name);
  const encoded = `=?utf-8?B?${Buffer.from(name).toString('base64')}?=`;
  return Buffer.byteLength(name) <= ENCODED_BYTES_MAX && encoded.length <= NAME_LENGTH_MAX ? encoded : plainName(name);
}

/** In Reply-To it would not decode an encoded name. */
function plainName(name: string): string {
  return shortened(NOT_ASCII.test(name) ? name.replace(SPECIALS, ' ').replace(/ {2,}/g, ' ').trim() : name);
}

function shortened(name: string): string {
  return Array.from(name).slice(0, NAME_LENGTH_MAX).join('');
}

/** For files without a name that says their type; Brevo refuses a name without one of the endings that it knows. */
const ENDING_OF: Readonly<Record<string, string>> = {
  ...{ 'image/png': 'png', 'image/jpeg': 'jpg', 'image/gif': 'gif', 'application/pdf': 'pdf', 'text/csv': 'csv' },
  ...{ 'text/plain': 'txt', 'text/html': 'html', 'text/calendar': 'ics', 'application/zip': 'zip' },
};

function attachmentOf({ name, type, content }: MessageFile): object {
  // It does not encode letters outside ASCII in names of files.
  const ascii = asciiOf(name).trim() || 'attachment';
  const ending = ENDING_OF[type.toLowerCase()];
  const hasEnding = /\.[A-Za-z0-9]{1,9}$/.test(ascii);
  return {
    name: hasEnding || ending === undefined ? ascii : `${ascii}.${ending}`,
    content: Buffer.from(content).toString('base64'),
  };
}
