/**
 * Bodies without files: read up to a limit, and counted before they are parsed. A parser cannot be stopped, and some megabytes of
 * tiny values take it seconds, so values are counted first, in one pass over the characters.
 */
import type { IncomingMessage } from 'node:http';
import { LateBodyError, type LargeBodyRight } from './large-bodies.ts';

/** Any content but the html of a campaign; a piece of an import is one megabyte in base64. */
export const BODY_BYTES_MAX = 5 * 1024 * 1024;
/** The html of a campaign may have 4 MB, which become 12 in a form or with the escapes of JSON; 2 MB are for the rest. */
export const LARGE_BODY_BYTES_MAX = 14 * 1024 * 1024;
/** For callers without a valid token: forms, logins, sign-ups. Any content of this size costs only milliseconds. */
export const STRANGERS_BODY_BYTES_MAX = 256 * 1024;
/** Values, lists and objects in one JSON text. Normal ones have some hundred; 5,000 parameters, each in its own list, fit. */
export const JSON_VALUES_MAX = 15_000;
/** Levels in one JSON text; the code that reads the values has a tighter limit. */
export const JSON_DEPTH_MAX = 64;

export interface BodyRule {
  /** Whether the caller's token is valid; called only for bodies that strangers may not send. */
  readonly isKnown: () => Promise<boolean>;
  /** The right to more than `BODY_BYTES_MAX`, taken when it is needed; absent: no body may have more. */
  readonly large?: LargeBodyRight | undefined;
}

/** The limit for callers with a valid token. */
export function knownBytesMax({ large }: Pick<BodyRule, 'large'>): number {
  return large ? LARGE_BODY_BYTES_MAX : BODY_BYTES_MAX;
}

/** How many bytes this body may have. */
export async function bodyLimit({ headers }: IncomingMessage, rule: BodyRule): Promise<number> {
  const length = headers['content-length'];
  if (length !== undefined && Number(length) <= STRANGERS_BODY_BYTES_MAX) return STRANGERS_BODY_BYTES_MAX;
  return (await rule.isKnown()) ? knownBytesMax(rule) : STRANGERS_BODY_BYTES_MAX;
}

interface ReadingRule extends Pick<BodyRule, 'large'> {
  readonly bytesMax: number;
  /** Called once when that limit is reached, with the bytes so far; if it says yes, the limit is that of known callers. */
  readonly mayGoOn?: (start: Buffer) => Promise<boolean>;
}

/**
 * The body, or undefined when it is larger than its limit. Throws LateBodyError, and RateLimitedError `TOO_MANY_LARGE_BODIES`; who
 * gave the right to a large body takes it back.
 */
export async function readBody(req: IncomingMessage, rule: ReadingRule): Promise<Buffer | undefined> {
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > (rule.mayGoOn ? knownBytesMax(rule) : rule.bytesMax)) return undefined;
  // Before its first byte is read, so that waiting takes no memory.
  if (announced > BODY_BYTES_MAX && rule.bytesMax > BODY_BYTES_MAX) await rule.large?.take();
  // Not destroyed on an early end: the connection still has to carry the answer.
  const pieces = req.iterator({ destroyOnReturn: false });
  try {
    const body = await readPieces(pieces, rule, announced);
    await pieces.return?.();
    return body;
  } catch (error) {
    // The piece that did not come in time is still waited for.
    if (!(error instanceof LateBodyError)) await pieces.return?.();
    throw error;
  }
}

async function readPieces(
  pieces: AsyncIterator<unknown>,
  { bytesMax, mayGoOn, large }: ReadingRule,
  announced: number,
): Promise<Buffer | undefined> {
  const most = knownBytesMax({ large });
  // Without a known length as soon as it is no small one: while it waits for its right, its first part is in memory.
  const mayBeLarge = (size: number) => (announced > 0 ? announced > BODY_BYTES_MAX : size > STRANGERS_BODY_BYTES_MAX);
  const chunks: Buffer[] = [];
  let size = 0;
  let limit = bytesMax;
  for (;;) {
    const { done, value } = await (large?.inTime(pieces.next()) ?? pieces.next());
    if (done) return Buffer.concat(chunks);
    if (!Buffer.isBuffer(value)) continue;
    size += value.length;
    if (size > limit && limit < most && (await mayGoOn?.(Buffer.concat(chunks)))) limit = most;
    if (size > limit) return undefined;
    if (limit > BODY_BYTES_MAX && mayBeLarge(size)) await large?.take();
    chunks.push(value);
  }
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
