/**
 * Return-paths that say whose bounce it is (VERP): `bounce+<token>@domain`, one for each delivery. The token carries
 * customer, campaign and subscriber under a MAC of 80 bits, so a bounce that comes to such an address needs no reading to
 * be filed, and one that we did not make leads nowhere. In base32 of lower case, because relays fold the case of what
 * stands before the @; with the prefix at most 63 octets of the 64 that RFC 5321 (4.5.3.1.1) allows.
 */
import { mac, sameBytes } from '../../lib/crypto.ts';
import type { Installation } from '../context.ts';
import type { DeliveryKey } from './delivery-message-id.ts';
import { installationKey } from './installation-key.ts';
import { readVarints, VARINT_BYTES_MAX, writeVarint } from './varint.ts';

const PREFIX = 'bounce+';
const MAC_BYTES = 10;
const VERSION = 1;
/** RFC 4648, 6, in lower case. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const LETTERS = Buffer.from(ALPHABET);
/** Some relays turn the plus into a hyphen. */
const ADDRESS = /^<?bounce[+-]([a-z2-7]{20,56})@([^@<>\s]+)>?$/;
const ANYWHERE = /\bbounce[+-][a-z2-7]{20,56}@[a-z0-9.-]{1,253}/gi;
/** An address more often in one text is somebody's game. */
const FOUND_MAX = 20;

const keyOf = installationKey('return-path');

// Filled and read within one call, so one of each is enough for the process.
const token = Buffer.alloc(MAC_BYTES + 1 + 3 * VARINT_BYTES_MAX);
const letters = Buffer.alloc(Math.ceil((token.length * 8) / 5));

/** The return-path of a delivery; `domain` in ASCII. */
export function returnPathOf(installation: Installation, delivery: DeliveryKey, domain: string): string {
  token[MAC_BYTES] = VERSION;
  let end = writeVarint(token, Number(delivery.customerId), MAC_BYTES + 1);
  end = writeVarint(token, Number(delivery.campaignId), end);
  end = writeVarint(token, Number(delivery.subscriberId), end);
  token.set(mac(keyOf(installation), token.subarray(MAC_BYTES, end), MAC_BYTES));
  return `${PREFIX}${base32(end)}@${domain}`;
}

/** The delivery whose return-path this is (brackets optional, any case, any domain), or undefined when we made none such. */
export function parseReturnPath(installation: Installation, address: string): DeliveryKey | undefined {
  const [, text] = ADDRESS.exec(address.trim().toLowerCase()) ?? [];
  const bytes = text === undefined ? undefined : fromBase32(text);
  if (!bytes || bytes.length < MAC_BYTES + 4) return undefined;
  const signed = bytes.subarray(MAC_BYTES);
  if (signed[0] !== VERSION) return undefined;
  if (!sameBytes(bytes.subarray(0, MAC_BYTES), mac(keyOf(installation), signed, MAC_BYTES))) return undefined;
  const [customerId = 0, campaignId = 0, subscriberId = 0] = readVarints(signed, 1, 3).values;
  return { customerId: BigInt(customerId), campaignId: BigInt(campaignId), subscriberId: BigInt(subscriberId) };
}

/** What looks like such addresses in a text. */
export function returnPathsIn(text: string): readonly string[] {
  return [...text.matchAll(ANYWHERE)].slice(0, FOUND_MAX).map(([address]) => address);
}

/** The first bytes of the token. */
function base32(count: number): string {
  let at = 0;
  let bits = 0;
  let held = 0;
  for (let index = 0; index < count; index++) {
    held = ((held & 31) << 8) | (token[index] ?? 0);
    for (bits += 8; bits >= 5; bits -= 5) letters[at++] = LETTERS[(held >>> (bits - 5)) & 31] ?? 0;
  }
  if (bits > 0) letters[at++] = LETTERS[(held << (5 - bits)) & 31] ?? 0;
  return letters.toString('latin1', 0, at);
}

/** Undefined for what `base32` would not have written: bits behind the last byte that are not zero. */
function fromBase32(text: string): Buffer | undefined {
  const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
  let at = 0;
  let bits = 0;
  let held = 0;
  for (const letter of text) {
    held = (held << 5) | ALPHABET.indexOf(letter);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = held >>> bits;
    held &= (1 << bits) - 1;
  }
  return held === 0 && bits < 5 ? bytes : undefined;
}
