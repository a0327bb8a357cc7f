/**
 * The body of a message: text and html as alternatives, pictures of the html related to them, then attachments (RFC 2046, RFC
 * 2387). What follows the texts is the same for everybody and encoded once.
 */
import { createHash } from 'node:crypto';
import { ValidationError } from '../../lib/errors.ts';
import { checkFiles, encodeAttachment, encodeImage } from './compile-files.ts';
import type { Segment } from './fill-scope.ts';
import type { SharedLinks } from './message.ts';
import { MESSAGE_BYTES_MAX, type MessageFiles } from './message-files.ts';
import { compileQuotedPrintable, isStatic, joinStatic, staticText, type Chunk } from './quoted-printable.ts';

/** A message's content headers and bodies. */
export interface CompiledBody {
  /** The texts, and the headers around them, with the addresses that all copies share. */
  readonly chunksFor: (shared: SharedLinks | undefined) => Chunk[];
  /** What follows the chunks; ASCII, and no line of it begins with a dot. */
  readonly tail: Buffer | undefined;
}

export interface BodyParts {
  readonly plain: readonly Segment[];
  readonly html: readonly Segment[] | undefined;
  readonly files: MessageFiles | undefined;
  /** Makes the boundaries of this message different from others. */
  readonly seed: string;
  /** Of the sender, in ASCII: the right part of Content-IDs. */
  readonly domain: string;
}

/** Throws ValidationError on `attachments` when the files cannot be sent. */
export function compileBody({ plain, html, files, seed, domain }: BodyParts): CompiledBody {
  const texts = { plain, html, seed };
  if (!files || files.attachments.length + files.images.length === 0) return withTail(texts, '', undefined);
  checkFiles(files);
  // Without html nothing can show a picture.
  const images = html === undefined ? [] : files.images;
  const attachments = html === undefined ? [...files.images, ...files.attachments] : files.attachments;
  const related = images.length > 0 ? boundaryOf(`${seed}:related`) : undefined;
  const mixed = attachments.length > 0 ? boundaryOf(`${seed}:mixed`) : undefined;
  const opening =
    (mixed === undefined ? '' : `${multipart('mixed', mixed)}--${mixed}\r\n`) +
    (related === undefined ? '' : `${multipart('related', related, 'multipart/alternative')}--${related}\r\n`);
  const tail: Buffer[] = [];
  if (related !== undefined) {
    tail.push(...images.flatMap((image) => encodeImage(image, { delimiter: related, domain })));
    tail.push(Buffer.from(`\r\n--${related}--\r\n`));
  }
  if (mixed !== undefined) {
    tail.push(...attachments.flatMap((file) => encodeAttachment(file, { delimiter: mixed })));
    tail.push(Buffer.from(`\r\n--${mixed}--\r\n`));
  }
  return withTail(texts, opening, Buffer.concat(tail));
}

/**
 * The number of bytes that are the same for all, files included. Throws ValidationError on `attachments` when mailboxes do not
 * take so many.
 */
export function staticBytesOf(chunks: readonly Chunk[], tail: Buffer | undefined): number {
  const texts = chunks.reduce((sum, chunk) => sum + (isStatic(chunk) ? chunk.bytes.length : 0), 0);
  if (tail === undefined) return texts;
  if (texts + tail.length > MESSAGE_BYTES_MAX) throw tooLarge();
  return texts + tail.length;
}

type Texts = Pick<BodyParts, 'plain' | 'html' | 'seed'>;

function withTail(texts: Texts, opening: string, tail: Buffer | undefined): CompiledBody {
  return { chunksFor: (shared) => joinStatic([staticText(opening), ...compileTexts(texts, shared)]), tail };
}

/** RFC 2046 5.1.4: alternatives from the plainest to the richest. One part needs no multipart. */
function compileTexts({ plain, html, seed }: Texts, shared: SharedLinks | undefined): Chunk[] {
  if (html === undefined) return compilePart('text/plain', plain, shared);
  const boundary = boundaryOf(seed);
  const delimiter = `--${boundary}\r\n`;
  return [
    staticText(multipart('alternative', boundary) + delimiter),
    ...compilePart('text/plain', plain, shared),
    // The line end before a delimiter belongs to the delimiter (RFC 2046 5.1.1).
    staticText(`\r\n${delimiter}`),
    ...compilePart('text/html', html, shared),
    staticText(`\r\n--${boundary}--\r\n`),
  ];
}

function compilePart(type: string, segments: readonly Segment[], shared: SharedLinks | undefined): Chunk[] {
  const head = `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`;
  return [staticText(head), ...compileQuotedPrintable(segments, shared)];
}

/** `=_` can occur neither in quoted-printable text nor in base64, so no body can contain the boundary. */
function boundaryOf(seed: string): string {
  return `=_mw_${createHash('sha256').update(seed).digest('hex').slice(0, 24)}`;
}

function multipart(subtype: string, boundary: string, rootType?: string): string {
  const root = rootType === undefined ? '' : `\r\n type="${rootType}";`;
  return `Content-Type: multipart/${subtype};${root}\r\n boundary="${boundary}"\r\n\r\n`;
}

function tooLarge(): ValidationError {
  const megabytes = MESSAGE_BYTES_MAX / 1_048_576;
  return new ValidationError({
    attachments: [`With its files, the message is larger than the ${megabytes} MB that mailboxes accept.`],
  });
}
