/**
 * Reads the messages that most campaigns are made of: one text, or a plain and an HTML text as alternatives. A general parser needs
 * thirty times as long, and reads all others.
 */
import { decodeWords } from 'postal-mime';

export interface SimpleMessage {
  /** Names as written; values unfolded, encoded words not decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly html: string | null;
  readonly text: string | null;
}

interface Entity {
  readonly headers: SimpleMessage['headers'];
  readonly body: Buffer;
}

const HEADERS_END = Buffer.from('\r\n\r\n');
/** The parts of `multipart/alternative` that are simple. */
const PARTS_MAX = 2;
const [EQUALS, CR, LF, SPACE, TAB] = [61, 13, 10, 32, 9];

/** Undefined: it has other parts, or another encoding. */
export function readSimpleMessage(content: Uint8Array): SimpleMessage | undefined {
  const whole = entityOf(Buffer.from(content.buffer, content.byteOffset, content.byteLength));
  if (!whole) return undefined;
  const boundary = boundaryOf(whole);
  const parts = boundary === undefined ? [whole] : partsBetween(whole.body, boundary);
  if (!parts || parts.length > PARTS_MAX) return undefined;
  const texts: { html: string | null; text: string | null } = { html: null, text: null };
  for (const part of parts) {
    const kind = kindOf(part);
    const text = kind === undefined ? undefined : textOf(part);
    if (kind === undefined || text === undefined || texts[kind] !== null) return undefined;
    texts[kind] = text;
  }
  return { headers: whole.headers, ...texts };
}

/** The value of the first header with this name, in lower case; an empty text where there is none. */
export function headerOf(headers: SimpleMessage['headers'], name: string): string {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? '';
}

/** With its encoded words (RFC 2047) decoded. */
export function decodedHeader(headers: SimpleMessage['headers'], name: string): string {
  const value = headerOf(headers, name);
  return value.includes('=?') ? decodeWords(value) : value;
}

function entityOf(bytes: Buffer): Entity | undefined {
  const end = bytes.indexOf(HEADERS_END);
  if (end < 0) return undefined;
  const lines = bytes
    .subarray(0, end)
    .toString('utf8')
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers: (readonly [string, string])[] = [];
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) return undefined;
    headers.push([line.slice(0, colon), line.slice(colon + 1).trim()]);
  }
  return { headers, body: bytes.subarray(end + HEADERS_END.length) };
}

function boundaryOf({ headers }: Entity): string | undefined {
  return /^multipart\/alternative\s*;\s*boundary="?([^";]{1,70})"?\s*$/i.exec(headerOf(headers, 'content-type'))?.[1];
}

function partsBetween(body: Buffer, boundary: string): readonly Entity[] | undefined {
  const mark = Buffer.from(`--${boundary}`);
  const parts: Entity[] = [];
  let at = body.indexOf(mark);
  while (at >= 0) {
    const start = at + mark.length;
    // The last mark ends with two hyphens.
    if (body[start] !== CR) break;
    at = body.indexOf(mark, start);
    // Each part ends before the line end that belongs to the next mark.
    const part = at < 0 ? undefined : entityOf(body.subarray(start + 2, at - 2));
    if (!part) return undefined;
    parts.push(part);
  }
  return parts;
}

function kindOf({ headers }: Entity): 'html' | 'text' | undefined {
  const type = headerOf(headers, 'content-type');
  if (/attachment|name=/i.test(headerOf(headers, 'content-disposition'))) return undefined;
  if (type === '') return 'text';
  const [, kind, charset = 'us-ascii'] =
    /^text\/(plain|html)(?:\s*;\s*charset="?([\w-]{1,20})"?)?\s*$/i.exec(type) ?? [];
  if (kind === undefined || !/^(?:utf-8|us-ascii)$/i.test(charset)) return undefined;
  return kind.toLowerCase() === 'html' ? 'html' : 'text';
}

function textOf({ headers, body }: Entity): string | undefined {
  switch (headerOf(headers, 'content-transfer-encoding').toLowerCase()) {
    case '':
    case '7bit':
    case '8bit':
      return body.toString('utf8');
    case 'quoted-printable':
      return fromQuotedPrintable(body);
    case 'base64':
      return Buffer.from(body.toString('latin1'), 'base64').toString('utf8');
    default:
      return undefined;
  }
}

/** RFC 2045 6.7. What is no escape stays as it is. */
function fromQuotedPrintable(bytes: Buffer): string {
  const decoded = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte !== EQUALS) {
      decoded[length++] = byte;
      continue;
    }
    const lineEnd = softLineEnd(bytes, at + 1);
    if (lineEnd !== undefined) {
      at = lineEnd;
      continue;
    }
    const value = (digitOf(bytes[at + 1]) << 4) | digitOf(bytes[at + 2]);
    if (value < 0) {
      decoded[length++] = byte;
      continue;
    }
    decoded[length++] = value;
    at += 2;
  }
  return decoded.toString('utf8', 0, length);
}

/** Where the line end is that an equals sign before it takes away; blanks between them do not count. */
function softLineEnd(bytes: Buffer, from: number): number | undefined {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB) at++;
  return bytes[at] === CR && bytes[at + 1] === LF ? at + 1 : undefined;
}

/** -1: no digit; with a shift and an "or" it stays negative. */
function digitOf(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 48 && byte <= 57) return byte - 48;
  if (byte >= 65 && byte <= 70) return byte - 55;
  return byte >= 97 && byte <= 102 ? byte - 87 : -1;
}
