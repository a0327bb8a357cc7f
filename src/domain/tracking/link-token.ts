/**
 * The bytes of a signed link: a MAC of 128 bits, then what it covers (version and kind, ids as varints, and for a
 * click the address it leads to). Nothing is stored, so nothing is looked up to redirect; what we did not sign does
 * not exist. One spelling only: a token that decodes but is not how we would write it is refused.
 */
import type { KeyObject } from 'node:crypto';
import { mac, sameBytes } from '../../lib/crypto.ts';
import { assert } from '../../lib/errors.ts';
import { LINK_URL_BYTES_MAX, type TrackedRecipient } from './tracking.ts';

/** Each kind is good for one thing only: the kind is under the MAC. */
export type LinkKind = keyof typeof KIND_CODES;

export interface LinkContent extends TrackedRecipient {
  /** Number of the link, or the end of a confirmation in seconds; 0 elsewhere. */
  readonly number: number;
  readonly url: string;
}

const KIND_CODES = { open: 1, click: 2, unsubscribe: 3, webView: 4, updateProfile: 5, confirm: 6 } as const;
const VERSION = 1 << 4;
const MAC_BYTES = 16;
/** A varint of 53 bits. */
const VARINT_BYTES_MAX = 8;
const HEAD_BYTES_MAX = MAC_BYTES + 1 + 5 * VARINT_BYTES_MAX;
const TOKEN_LENGTH_MAX = Math.ceil(((HEAD_BYTES_MAX + LINK_URL_BYTES_MAX) * 4) / 3);
const TOKEN_LENGTH_MIN = 28;

// Filled and read within one call, so one is enough for the process.
const scratch = Buffer.alloc(HEAD_BYTES_MAX + LINK_URL_BYTES_MAX);

/** The ids of a recipient as the bytes of a token, for use in all its links. */
export function recipientBytes({ customerId, listId, campaignId, subscriberId }: TrackedRecipient): Buffer {
  let end = 0;
  for (const id of [customerId, listId, campaignId, subscriberId]) end = writeVarint(Number(id), end);
  return Buffer.from(scratch.subarray(0, end));
}

/** Signs one link. `url` is at most LINK_URL_BYTES_MAX long. */
export function writeLinkToken(
  key: KeyObject,
  { kind, recipient, number = 0, url = '' }: { kind: LinkKind; recipient: Buffer; number?: number; url?: string },
): string {
  scratch[MAC_BYTES] = VERSION | KIND_CODES[kind];
  let end = MAC_BYTES + 1;
  end += recipient.copy(scratch, end);
  end = writeVarint(number, end);
  end += scratch.write(url, end, 'utf8');
  mac(key, scratch.subarray(MAC_BYTES, end), MAC_BYTES).copy(scratch);
  return scratch.toString('base64url', 0, end);
}

/** Reads a token of the kind, or undefined when it is not one that we signed, to the letter. */
export function readLinkToken(key: KeyObject, kind: LinkKind, token: string): LinkContent | undefined {
  if (token.length < TOKEN_LENGTH_MIN || token.length > TOKEN_LENGTH_MAX) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.toString('base64url') !== token) return undefined;
  const signed = bytes.subarray(MAC_BYTES);
  if (signed[0] !== (VERSION | KIND_CODES[kind])) return undefined;
  if (!sameBytes(bytes.subarray(0, MAC_BYTES), mac(key, signed, MAC_BYTES))) return undefined;
  return readContent(signed);
}

/** What follows the MAC was written by `writeLinkToken`: the MAC has said so. */
function readContent(signed: Buffer): LinkContent {
  const values: number[] = [];
  let at = 1;
  while (values.length < 5) {
    const { value, end } = readVarint(signed, at);
    values.push(value);
    at = end;
  }
  const [customerId = 0, listId = 0, campaignId = 0, subscriberId = 0, number = 0] = values;
  return {
    customerId: BigInt(customerId),
    listId: BigInt(listId),
    campaignId: BigInt(campaignId),
    subscriberId: BigInt(subscriberId),
    number,
    url: signed.toString('utf8', at),
  };
}

/** Seven bits a byte, lowest first; arithmetic instead of shifts, because ids outgrow 32 bits. */
function writeVarint(value: number, start: number): number {
  assert(Number.isSafeInteger(value) && value >= 0, 'a link carries whole numbers below 2^53');
  let rest = value;
  let at = start;
  while (rest > 127) {
    scratch[at++] = (rest % 128) | 128;
    rest = Math.floor(rest / 128);
  }
  scratch[at++] = rest;
  return at;
}

function readVarint(bytes: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  let scale = 1;
  for (let at = start; ; at++, scale *= 128) {
    const byte = bytes[at] ?? 0;
    value += (byte & 127) * scale;
    if (byte < 128) return { value, end: at + 1 };
  }
}
