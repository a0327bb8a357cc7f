/**
 * The body of a message: text and html as alternatives, pictures of the html related to them, attachments behind it
 * all (RFC 2046, RFC 2387). What comes behind the texts is the same for everybody: bytes that are encoded once.
 */
import { createHash } from 'node:crypto';
import { ValidationError } from '../../lib/errors.ts';
import { checkFiles, encodeAttachment, encodeImage } from './compile-files.ts';
import type { FillScope, Segment } from './fill-scope.ts';
import { MESSAGE_BYTES_MAX, type MessageFiles } from './message-files.ts';
import { compileQuotedPrintable } from './quoted-printable.ts';

/** Writes a message's content headers and bodies. */
export interface BodyWriter {
  /** Of everything that is the same for all, `tail` included. */
  readonly staticBytes: number;
  write(scope: FillScope, out: string[]): void;
  /** What follows what `write` writes; ASCII, and no line of it begins with a dot. */
  readonly tail: Buffer | undefined;
}

export interface BodyParts {
  readonly plain: readonly Segment[];
  readonly html: readonly Segment[] | undefined;
  readonly files: MessageFiles | undefined;
  /** Tells the boundaries of this message from those of others. */
  readonly seed: string;
  /** Of the sender, in ASCII: the right part of Content-IDs. */
  readonly domain: string;
}

/** Throws ValidationError on `attachments` when the files cannot go along. */
export function compileBody({ plain, html, files, seed, domain }: BodyParts): BodyWriter {
  const texts = compileTexts({ plain, html, seed });
  if (!files || files.attachments.length + files.images.length === 0) return { ...texts, tail: undefined };
  checkFiles(files);
  // Without html there is nothing that could show a picture.
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
  const bytes = Buffer.concat(tail);
  const staticBytes = texts.staticBytes + opening.length + bytes.length;
  if (staticBytes > MESSAGE_BYTES_MAX) throw tooLarge();
  return {
    staticBytes,
    tail: bytes,
    write: (scope, out) => {
      out.push(opening);
      texts.write(scope, out);
    },
  };
}

/** RFC 2046 5.1.4: alternatives from the plainest to the richest. One part needs no multipart. */
function compileTexts({ plain, html, seed }: Pick<BodyParts, 'plain' | 'html' | 'seed'>) {
  const parts = [
    { type: 'text/plain', encoded: compileQuotedPrintable(plain) },
    ...(html === undefined ? [] : [{ type: 'text/html', encoded: compileQuotedPrintable(html) }]),
  ];
  const boundary = boundaryOf(seed);
  const isMultipart = parts.length > 1;
  const opening = isMultipart ? multipart('alternative', boundary) : '';
  const closing = isMultipart ? `--${boundary}--\r\n` : '';
  const delimiter = isMultipart ? `--${boundary}\r\n` : '';
  const heads = parts.map(({ type }) => {
    return `${delimiter}Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`;
  });
  const staticBytes = parts.reduce((sum, { encoded }) => sum + encoded.staticBytes, 0);
  return {
    staticBytes: staticBytes + opening.length + heads.join('').length + closing.length,
    write: (scope: FillScope, out: string[]): void => {
      out.push(opening);
      for (const [index, { encoded }] of parts.entries()) {
        out.push(heads[index] ?? '');
        encoded.write(scope, out);
        // The line end before a delimiter belongs to the delimiter (RFC 2046 5.1.1).
        if (isMultipart) out.push('\r\n');
      }
      out.push(closing);
    },
  };
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
    attachments: [`With its files the message is larger than the ${megabytes} MB that mailboxes take.`],
  });
}
