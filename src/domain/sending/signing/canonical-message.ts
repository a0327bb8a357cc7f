/**
 * A message as DKIM hashes it: the `relaxed` forms of header fields and body (RFC 6376 3.4.2, 3.4.4), read from the
 * bytes that are handed over. Knows nothing of keys.
 */
import { hash } from 'node:crypto';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const HEADER_END = '\r\n\r\n';

/** Header fields by lower-case name; those of one name from the bottom up, as signatures count them (RFC 6376 5.4.2). */
export type CanonicalFields = ReadonlyMap<string, readonly string[]>;

export interface CanonicalMessage {
  /** Each as `name:value` with CRLF; bytes above ASCII as Latin-1. */
  readonly fields: CanonicalFields;
  /** SHA-256 of the body, in Base64. */
  readonly bodyHash: string;
}

/** Reads `content`: RFC 5322 bytes with CRLF line ends. A message without a body, or without a last line end, is fine. */
export function canonicalMessage(content: Uint8Array): CanonicalMessage {
  const bytes = Buffer.isBuffer(content)
    ? content
    : Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const end = bytes.indexOf(HEADER_END, 0, 'latin1');
  const headerEnd = end === -1 ? bytes.length : end;
  return {
    fields: canonicalFields(bytes.toString('latin1', 0, headerEnd)),
    bodyHash: bodyHash(end === -1 ? bytes.subarray(bytes.length) : bytes.subarray(end + HEADER_END.length)),
  };
}

function canonicalFields(header: string): CanonicalFields {
  const fields = new Map<string, string[]>();
  let start = 0;
  while (start < header.length) {
    const end = fieldEnd(header, start);
    const colon = header.indexOf(':', start);
    if (colon !== -1 && colon < end) {
      const name = header.slice(start, colon).trim().toLowerCase();
      const field = `${name}:${relaxedValue(header.slice(colon + 1, end))}\r\n`;
      const same = fields.get(name);
      if (same) same.unshift(field);
      else fields.set(name, [field]);
    }
    start = end + 2;
  }
  return fields;
}

/** Where the field that begins at `start` ends: at a line end that no white space follows. */
function fieldEnd(header: string, start: number): number {
  let end = header.indexOf('\r\n', start);
  while (end !== -1 && isBlank(header.charCodeAt(end + 2))) end = header.indexOf('\r\n', end + 2);
  return end === -1 ? header.length : end;
}

/** A value is one line with single spaces, as a rule. */
const UNUSUAL = /[\t\r]|  | $/;

/** Unfolded, runs of white space as one space, none around it (RFC 6376 3.4.2). */
export function relaxedValue(value: string): string {
  if (!UNUSUAL.test(value)) return value.startsWith(' ') ? value.slice(1) : value;
  return value
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '');
}

/** A run is one match from its first character, however long: no part of a body is walked twice. */
const UNUSUAL_IN_BODY = /[\t ]{2,}|\t| (?=\r\n)/g;

/**
 * RFC 6376 3.4.4: white space at the end of lines and empty lines at the end go, runs become one space, a last line
 * without an end gets one, and an empty body stays empty. As a text of a letter a byte: a loop over the bytes takes twice
 * as long as the search. What is as it should be is hashed where it lies.
 */
function bodyHash(body: Buffer): string {
  const end = endOfText(body);
  if (end === 0) return hash('sha256', '', 'base64');
  const text = body.toString('latin1', 0, end);
  const relaxed = text.replace(UNUSUAL_IN_BODY, (run: string, at: number) =>
    text.startsWith('\r\n', at + run.length) ? '' : ' ',
  );
  // Nearly always the line end that is wanted follows in the body itself.
  const isAsItShould = relaxed === text && body[end] === CR && body[end + 1] === LF;
  return hash('sha256', isAsItShould ? body.subarray(0, end + 2) : Buffer.from(`${relaxed}\r\n`, 'latin1'), 'base64');
}

/** Where the text ends: before the white space of its last line, the empty lines after it, and their white space. */
function endOfText(body: Buffer): number {
  let end = body.length;
  for (;;) {
    while (isBlank(body[end - 1])) end--;
    if (body[end - 1] !== LF || body[end - 2] !== CR) return end;
    end -= 2;
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}
