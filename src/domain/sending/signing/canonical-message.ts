/** A message as DKIM hashes it: the `relaxed` forms of header fields and body (RFC 6376 3.4.2, 3.4.4). Without keys. */
import { hash } from 'node:crypto';
import { endianness } from 'node:os';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const HEADER_END = '\r\n\r\n';
const LINE_END = Buffer.from('\r\n');
const WORD_BYTES = 4;
/** Memory that is kept for further bodies; larger ones are rare. */
const WORKSPACE_BYTES_MAX = 524_288;

/** Header fields by lower-case name; those of one name from the bottom up, as signatures count them (RFC 6376 5.4.2). */
export type CanonicalFields = ReadonlyMap<string, readonly string[]>;

export interface CanonicalMessage {
  /** Each as `name:value` with CRLF; bytes above ASCII as Latin-1. */
  readonly fields: CanonicalFields;
  /** SHA-256 of the body, in Base64. */
  readonly bodyHash: string;
}

/** Reads `content`: RFC 5322 bytes with CRLF line ends. A message without a body, or without a last line end, is allowed. */
export function canonicalMessage(content: Buffer): CanonicalMessage {
  const end = content.indexOf(HEADER_END, 0, 'latin1');
  const headerEnd = end === -1 ? content.length : end;
  return {
    fields: canonicalFields(content.toString('latin1', 0, headerEnd)),
    bodyHash: bodyHash(content.subarray(end === -1 ? content.length : end + HEADER_END.length)),
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
      if (same) same.push(field);
      else fields.set(name, [field]);
    }
    start = end + 2;
  }
  for (const same of fields.values()) same.reverse();
  return fields;
}

/** Where the field that begins at `start` ends: at a line end without following white space. */
function fieldEnd(header: string, start: number): number {
  let end = header.indexOf('\r\n', start);
  while (end !== -1 && isBlank(header.charCodeAt(end + 2))) end = header.indexOf('\r\n', end + 2);
  return end === -1 ? header.length : end;
}

/** Usually a value is one line with single spaces. */
const UNUSUAL = /[\t\r]|  | $/;

/** Unfolded, runs of white space as one space, none around it (RFC 6376 3.4.2). */
function relaxedValue(value: string): string {
  if (!UNUSUAL.test(value)) return value.startsWith(' ') ? value.slice(1) : value;
  return value
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '');
}

/**
 * RFC 6376 3.4.4: white space at line ends and empty lines at the end are removed, runs become one space, a last line without an
 * end gets one, and an empty body stays empty.
 */
function bodyHash(body: Buffer): string {
  const textEnd = endOfText(body);
  if (textEnd === 0) return hash('sha256', '', 'base64');
  const end = textEnd + LINE_END.length;
  const workspace = workspaceFor(end);
  const { bytes } = workspace;
  body.copy(bytes, 0, 0, textEnd);
  LINE_END.copy(bytes, textEnd);
  if (body.includes(TAB)) for (let at = 0; at < textEnd; at++) if (bytes[at] === TAB) bytes[at] = SPACE;
  return hash('sha256', bytes.subarray(0, closeGaps(workspace, end)), 'base64');
}

/** Removes spaces before a space or a line end; returns where the text ends then. */
function closeGaps({ bytes, words }: Workspace, end: number): number {
  let length = 0;
  let keptFrom = 0;
  for (let word = nextSuspect(words, 0, end); word !== -1; word = nextSuspect(words, word + 1, end)) {
    const after = Math.min((word + 1) * WORD_BYTES, end);
    for (let at = Math.max(word * WORD_BYTES - 1, keptFrom); at < after; at++) {
      if (bytes[at] !== SPACE || !(bytes[at + 1] === SPACE || isLineEnd(bytes, at + 1))) continue;
      if (at > keptFrom) bytes.copy(bytes, length, keptFrom, at);
      length += at - keptFrom;
      keptFrom = at + 1;
    }
  }
  if (keptFrom > 0) bytes.copy(bytes, length, keptFrom, end);
  return length + end - keptFrom;
}

/**
 * Where the next word (four bytes) is in which white space follows a space; that space may be the last byte of the word before.
 * As one number, four bytes are checked in one step: every text is searched here, and most have few such places.
 */
function nextSuspect(words: Int32Array, from: number, end: number): number {
  const count = Math.ceil(end / WORD_BYTES);
  // The following sums need little-endian order. Otherwise every word is checked.
  if (endianness() === 'BE') return from < count ? from : -1;
  let spacesBefore = 0;
  for (let at = from; at < count; at++) {
    const word = words[at] ?? 0;
    // The highest bit of each byte up to a space; then of each space.
    const blanks = ~(((word & 0x7f7f7f7f) + 0x5f5f5f5f) | word) & 0x80808080;
    const others = word ^ 0x20202020;
    const spaces = ~(((others & 0x7f7f7f7f) + 0x7f7f7f7f) | others) & 0x80808080;
    if (((blanks & (spaces << 8)) | (blanks & (spacesBefore >>> 24))) !== 0) return at;
    spacesBefore = spaces;
  }
  return -1;
}

function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

/** The memory in which bodies are made canonical, one at a time. */
interface Workspace {
  readonly bytes: Buffer;
  readonly words: Int32Array;
}

let kept = newWorkspace(65_536);

function workspaceFor(count: number): Workspace {
  if (count <= kept.bytes.length) return kept;
  if (2 * count > WORKSPACE_BYTES_MAX) return newWorkspace(count);
  kept = newWorkspace(2 * count);
  return kept;
}

function newWorkspace(count: number): Workspace {
  const words = new Int32Array(Math.ceil(count / WORD_BYTES));
  return { bytes: Buffer.from(words.buffer), words };
}

/** The end of the text: before the white space of its last line, and the empty lines after it. */
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
