/**
 * Bodies without files: read up to a limit, and counted before they are parsed. A parser cannot be stopped, and some megabytes of
 * tiny values take it seconds, so values are counted first, in one pass over the characters.
 */
import type { IncomingMessage } from 'node:http';

/** A campaign's html may have a megabyte, which becomes three in a form; a piece of an import is one megabyte in base64. */
export const BODY_BYTES_MAX = 5 * 1024 * 1024;
/** For callers without a valid token: forms, logins, sign-ups. Any content of this size costs only milliseconds. */
export const STRANGERS_BODY_BYTES_MAX = 256 * 1024;
/** Values, lists and objects in one JSON text. Normal ones have some hundred; 5,000 parameters, each in its own list, fit. */
export const JSON_VALUES_MAX = 15_000;
/** Levels in one JSON text; the code that reads the values has a tighter limit. */
export const JSON_DEPTH_MAX = 64;

/** How many bytes this body may have. `isKnown`, which checks the caller's token, is called only for large ones. */
export async function bodyLimit({ headers }: IncomingMessage, isKnown: () => Promise<boolean>): Promise<number> {
  const length = headers['content-length'];
  if (length !== undefined && Number(length) <= STRANGERS_BODY_BYTES_MAX) return STRANGERS_BODY_BYTES_MAX;
  return (await isKnown()) ? BODY_BYTES_MAX : STRANGERS_BODY_BYTES_MAX;
}

/**
 * The body, or undefined when it is larger than `bytesMax`. When that limit is reached `mayGoOn` is called once, with the bytes
 * that have come so far; if it says yes, the limit is `BODY_BYTES_MAX`.
 */
export async function readBody(
  req: IncomingMessage,
  bytesMax: number,
  mayGoOn?: (start: Buffer) => Promise<boolean>,
): Promise<Buffer | undefined> {
  if (Number(req.headers['content-length'] ?? 0) > (mayGoOn ? BODY_BYTES_MAX : bytesMax)) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  let limit = bytesMax;
  // Not destroyed on an early end: the connection still has to carry the answer.
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > limit && limit < BODY_BYTES_MAX && (await mayGoOn?.(Buffer.concat(chunks)))) limit = BODY_BYTES_MAX;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Whether `text` has at most `countMax` pairs of a form or query. It stops at the first one that is too many. */
export function hasFewPairs(text: string, countMax: number): boolean {
  let count = 1;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) if (++count > countMax) return false;
  return true;
}

/** What is too much in a JSON text; undefined: it may be parsed. Invalid JSON is left to the parser. */
export function excessOf(text: string): 'values' | 'depth' | undefined {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at + 1);
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        depth += 1;
        values += 1;
        if (depth > JSON_DEPTH_MAX) return 'depth';
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        break;
      default:
    }
    if (values > JSON_VALUES_MAX) return 'values';
  }
  return undefined;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function endOfString(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) break;
  }
  return at;
}
