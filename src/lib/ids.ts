/**
 * Public identifiers. uids are 13 characters of [0-9a-f] (decision D9) and say nothing about the bigint ids behind them; API
 * tokens are 60 alphanumerics from a cryptographically secure generator.
 */
import { randomBytes, randomInt } from 'node:crypto';

export const UID_LENGTH = 13;
const TOKEN_LENGTH = 60;
const ALPHANUMERICS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const UID_PATTERN = /^[0-9a-f]{13}$/;

/** A fresh random uid. */
export function newUid(): string {
  return randomBytes(7).toString('hex').slice(0, UID_LENGTH);
}

export function isUid(value: string): boolean {
  return UID_PATTERN.test(value);
}

/** A fresh API token, about 357 bits. */
export function newApiToken(): string {
  let token = '';
  while (token.length < TOKEN_LENGTH) token += ALPHANUMERICS[randomInt(ALPHANUMERICS.length)];
  return token;
}

/** Reads what `toString(36)` wrote, of any length. */
export function fromBase36(digits: string): bigint {
  return [...digits].reduce((value, digit) => value * 36n + BigInt(Number.parseInt(digit, 36)), 0n);
}

// A subscriber's uid is its id, written differently: a fixed bijection of 52-bit numbers (an odd multiplier and
// an offset modulo 2^52). It costs no column and no index on the largest table. It is not a secret: nothing is
// allowed because somebody knows a uid.
const UID_SPACE = 1n << 52n;
const MULTIPLIER = 0x9e3779b97f4a7n | 1n;
const OFFSET = 0x5bd1e995d4b1fn;
const INVERSE = inverseModulo(MULTIPLIER, UID_SPACE);

/** The uid of the subscriber with this id (0 < id < 2^52). */
export function subscriberUid(id: bigint): string {
  return ((id * MULTIPLIER + OFFSET) % UID_SPACE).toString(16).padStart(UID_LENGTH, '0');
}

/** The id behind a subscriber's uid; the opposite of `subscriberUid`. */
export function subscriberIdOf(uid: string): bigint {
  const shifted = (BigInt(`0x${uid}`) - OFFSET + UID_SPACE) % UID_SPACE;
  return (shifted * INVERSE) % UID_SPACE;
}

/** The uid of a message that is not of a campaign: its id, written in the same way. */
export function messageUid(id: bigint): string {
  return subscriberUid(id);
}

/** The id behind a message's uid. */
export function messageIdOf(uid: string): bigint {
  return subscriberIdOf(uid);
}

/** The uid of a run of an automation: its id, written in the same way. */
export function runUid(id: bigint): string {
  return subscriberUid(id);
}

/** The id behind a run's uid. */
export function runIdOf(uid: string): bigint {
  return subscriberIdOf(uid);
}

/** The uid of a live test of an automation: its id, written in the same way. */
export function flowTestUid(id: bigint): string {
  return subscriberUid(id);
}

/** The id behind a test's uid. */
export function flowTestIdOf(uid: string): bigint {
  return subscriberIdOf(uid);
}

/** Newton's iteration: each round doubles the number of right bits of the inverse of an odd number. */
function inverseModulo(odd: bigint, powerOfTwo: bigint): bigint {
  let inverse = 1n;
  for (let round = 0; round < 6; round++) inverse = (inverse * (2n - odd * inverse)) % powerOfTwo;
  return ((inverse % powerOfTwo) + powerOfTwo) % powerOfTwo;
}
