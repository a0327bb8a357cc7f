/** Encodes a message's files once per compiled message; all copies share the bytes. */
import { ValidationError } from '../../lib/errors.ts';
import { escapeHtml } from '../../lib/html.ts';
import { headerText } from './escape.ts';
import {
  isRefusedFile,
  MESSAGE_FILE_BYTES_MAX,
  MESSAGE_FILES_MAX,
  typeToSend,
  type InlineImage,
  type MessageFile,
  type MessageFiles,
} from './message-files.ts';
import type { PlannedImage } from './message-plan.ts';
import { addPiece, type MarkedText } from './template-marks.ts';

/** RFC 2045 6.8: at most 76 characters a line, which are 57 bytes. */
const BYTES_PER_LINE = 57;
/** Lines that are encoded at once: enough for speed, few enough to need no second copy of a file. */
const LINES_AT_ONCE = 4_096;
/** RFC 5322 2.1.1, with space for the parameter's name and number. */
const PARAMETER_LENGTH = 56;

/** Throws ValidationError on `attachments`. */
export function checkFiles({ attachments, images }: MessageFiles): void {
  const files = [...attachments, ...images];
  const faults = files
    .filter(isRefusedFile)
    .map(({ name }) => `Mailbox providers refuse mail with files like "${name}".`);
  const large = files.filter(({ bytes }) => bytes.length > MESSAGE_FILE_BYTES_MAX);
  faults.push(...large.map(({ name }) => `"${name}" is larger than ${MESSAGE_FILE_BYTES_MAX / 1_048_576} MB.`));
  if (files.length > MESSAGE_FILES_MAX) faults.push(`A message may have at most ${MESSAGE_FILES_MAX} files.`);
  if (faults.length > 0) throw new ValidationError({ attachments: faults });
}

/**
 * Replaces picture addresses in the html: by the message's own parts, or, for a page, by the files' addresses. Returns references
 * to files that do not exist.
 */
export function placeImages(html: MarkedText, images: readonly PlannedImage[], domain: string): string[] {
  const missing = new Set<string>();
  const known = new Map(images.flatMap((image) => spellings(image.reference).map((spelling) => [spelling, image])));
  const places = [...known.keys()].toSorted((a, b) => b.length - a.length).map(escapePattern);
  // The next character must not belong to the reference: `cid:logo` is not the beginning of `cid:logo.png`.
  const pattern = new RegExp(`(?:${[...places, String.raw`\bcid:[^"'\s<>()]+`].join('|')})(?![\\w.%-])`, 'gi');
  const text = html.text.replace(pattern, (found) => {
    const image = known.get(found) ?? known.get(found.replace(/^cid:/i, 'cid:'));
    if (!image) {
      if (/^cid:/i.test(found)) missing.add(found);
      return found;
    }
    const inMail = `cid:${image.id}@${domain}`;
    return addPiece(html.pieces, {
      kind: 'insert',
      segment: { kind: 'mailOrPage', inMail, onPage: escapeHtml(image.url) },
    });
  });
  Object.assign(html, { text });
  return [...missing];
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** The spellings of one reference that authors and editors use. */
function spellings(reference: string): string[] {
  const encoded = reference.startsWith('cid:') ? `cid:${encodeURIComponent(reference.slice(4))}` : reference;
  return [...new Set([reference, encoded, escapeHtml(reference)])];
}

/** A picture as a part of `multipart/related`, with its Content-ID (RFC 2392). */
export function encodeImage(
  image: InlineImage,
  { delimiter, domain }: { delimiter: string; domain: string },
): Buffer[] {
  return encodePart(image, delimiter, [
    `Content-Disposition: inline${parameter('filename', image.name)}`,
    `Content-ID: <${image.id}@${domain}>`,
  ]);
}

/** A file as a part of `multipart/mixed`. */
export function encodeAttachment(file: MessageFile, { delimiter }: { delimiter: string }): Buffer[] {
  return encodePart(file, delimiter, [`Content-Disposition: attachment${parameter('filename', file.name)}`]);
}

function encodePart(file: MessageFile, delimiter: string, headers: readonly string[]): Buffer[] {
  const head = [
    `\r\n--${delimiter}`,
    `Content-Type: ${typeToSend(file)}${parameter('name', file.name)}`,
    'Content-Transfer-Encoding: base64',
    ...headers,
    '\r\n',
  ];
  return [Buffer.from(head.join('\r\n'), 'latin1'), ...encodeBase64(file.bytes)];
}

function encodeBase64(bytes: Uint8Array): Buffer[] {
  const encoded: Buffer[] = [];
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let from = 0; from < source.length; from += BYTES_PER_LINE * LINES_AT_ONCE) {
    const text = source.toString('base64', from, Math.min(from + BYTES_PER_LINE * LINES_AT_ONCE, source.length));
    const lines = text.match(/.{1,76}/g) ?? [];
    encoded.push(Buffer.from(`${lines.join('\r\n')}\r\n`, 'latin1'));
  }
  return encoded;
}

/** A parameter on its own line, split and encoded by RFC 2231 if its value is long or not ASCII. */
function parameter(name: string, given: string): string {
  const value = headerText(given).trim();
  if (/^[\w .,+()@=-]*$/.test(value) && value.length <= PARAMETER_LENGTH) return `;\r\n ${name}="${value}"`;
  const pieces: string[] = [];
  let piece = "utf-8''";
  for (const character of value.toWellFormed()) {
    const encoded = encodeURIComponent(character).replace(
      /[!'()*]/g,
      (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
    );
    if (piece.length + encoded.length > PARAMETER_LENGTH) {
      pieces.push(piece);
      piece = '';
    }
    piece += encoded;
  }
  pieces.push(piece);
  if (pieces.length === 1) return `;\r\n ${name}*=${piece}`;
  return pieces.map((text, no) => `;\r\n ${name}*${no}*=${text}`).join('');
}
