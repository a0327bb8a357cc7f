/**
 * Devices and addresses from which this user logged in before. Their failed tries are counted separately, so that an attacker
 * cannot lock the owner out. A known device never replaces the password or the code.
 */
import { randomBytes } from 'node:crypto';
import { addressBlock } from '../../lib/address-block.ts';
import { deriveKey, mac, sameBytes, sha256 } from '../../lib/crypto.ts';
import type { Context } from '../context.ts';
import { KNOWN_DEVICE_DAYS } from './account-limits.ts';

/** What a device's token is bound to: a changed password or second factor ends it (hard case E5). */
export interface DeviceOwner {
  readonly uid: string;
  readonly passwordHash: string;
  /** The encrypted secret, or null. */
  readonly secondFactor: Uint8Array | null;
  /** Addresses from which tokens of the user were used. */
  readonly addresses: readonly string[];
}

const DEVICE_BYTES = 12;
const DAY_MS = 24 * 60 * 60 * 1000;
const PATTERN = /^([A-Za-z0-9_-]{16})\.([0-9a-z]{1,12})\.([A-Za-z0-9_-]{22})$/;

/** A text that the device keeps and shows at the next login. It is no credential. */
export function newDeviceToken(ctx: Context, owner: DeviceOwner): string {
  const device = randomBytes(DEVICE_BYTES).toString('base64url');
  const expires = (ctx.clock.now().getTime() + KNOWN_DEVICE_DAYS * DAY_MS).toString(36);
  return `${device}.${expires}.${signature(ctx, owner, { device, expires }).toString('base64url')}`;
}

/** What identifies this try: a device, an address; null for a stranger. */
export function knownAs(ctx: Context, owner: DeviceOwner, token: string | null | undefined): string | null {
  const [, device, expires, signed] = PATTERN.exec(token ?? '') ?? [];
  if (device && expires && signed && Number.parseInt(expires, 36) > ctx.clock.now().getTime()) {
    // Compared as texts: several last letters decode to the same bytes, and only one of them was issued.
    const expected = signature(ctx, owner, { device, expires }).toString('base64url');
    if (sameBytes(Buffer.from(signed), Buffer.from(expected))) return `device:${device}`;
  }
  if (ctx.ipAddress === null) return null;
  const block = addressBlock(ctx.ipAddress);
  return owner.addresses.some((address) => addressBlock(address) === block) ? `at:${block}` : null;
}

function signature(ctx: Context, owner: DeviceOwner, { device, expires }: { device: string; expires: string }): Buffer {
  const bound = sha256(`${owner.passwordHash}\n${Buffer.from(owner.secondFactor ?? []).toString('base64')}`);
  const text = [owner.uid, bound.toString('base64'), device, expires].join('\n');
  return mac(deriveKey(ctx.installation.secret, 'accounts.known-device'), text);
}
