/**
 * The second factor: codes of an authenticator app (TOTP, RFC 6238) and ten recovery codes. The secret is encrypted with the
 * installation's key; of recovery codes only a keyed digest is stored. A code is valid once.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { deriveKey, mac, seal, unseal } from '../../lib/crypto.ts';
import type { Context } from '../context.ts';
import { RECOVERY_CODES } from './account-limits.ts';
import type { UserKey } from './api-token-store.ts';
import { replaceRecoveryCodes, takeStep, useRecoveryCode, type SecondFactor } from './two-factor-store.ts';

const PERIOD_SECONDS = 30;
const DIGITS = 6;
/** RFC 4226, 4: 160 bits are recommended. */
const SECRET_BYTES = 20;
/** The codes of the steps before and after are accepted as well: clocks differ, and typing takes time. */
const STEPS_AROUND = 1;
// Without characters that are easily confused: 0 and o, 1, l and i.
const RECOVERY_LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
/** 12 letters of 31 are 59 bits; the digest is keyed, so the database alone is useless for guessing. */
const RECOVERY_LENGTH = 12;

export interface NewSecret {
  /** Base32, for typing. */
  readonly secret: string;
  /** `otpauth://totp/…`, for a QR code. */
  readonly uri: string;
}

/** A secret in the form for the app. */
export function newTwoFactorSecret(ctx: Context, email: string): NewSecret & { readonly sealed: Buffer } {
  const secret = new Secret({ buffer: new Uint8Array(randomBytes(SECRET_BYTES)).buffer });
  const issuer = `Mailwright (${new URL(ctx.installation.baseUrl).host})`;
  const uri = new TOTP({ issuer, label: email, secret, digits: DIGITS, period: PERIOD_SECONDS }).toString();
  return { secret: secret.base32, uri, sealed: seal(sealingKey(ctx), secret.base32, SEALED_FOR) };
}

/** Ten codes in clear, shown once. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const letters = Array.from(
      { length: RECOVERY_LENGTH },
      () => RECOVERY_LETTERS[randomInt(RECOVERY_LETTERS.length)] ?? '',
    );
    return [letters.slice(0, 4), letters.slice(4, 8), letters.slice(8)].map((part) => part.join('')).join('-');
  });
}

/** Stores the digests of these codes, and no others. */
export async function storeRecoveryCodes(ctx: Context, user: UserKey, codes: readonly string[]): Promise<void> {
  const digests = codes.map((code) => recoveryDigest(ctx, user, code));
  await replaceRecoveryCodes(ctx.db, user, digests);
}

/** Whether this is a valid code that was not used before; from now on it is used. */
export async function takeSecondFactorCode(ctx: Context, factor: SecondFactor, code: string): Promise<boolean> {
  const typed = code.replace(/[\s-]/g, '').toLowerCase();
  return /^\d{6}$/.test(typed) ? takeAppCode(ctx, factor, typed) : takeRecoveryCode(ctx, factor, typed);
}

async function takeAppCode(ctx: Context, factor: SecondFactor, code: string): Promise<boolean> {
  const now = ctx.clock.now().getTime();
  const secret = Secret.fromBase32(unseal(sealingKey(ctx), factor.sealedSecret, SEALED_FOR));
  const totp = new TOTP({ secret, digits: DIGITS, period: PERIOD_SECONDS });
  const delta = totp.validate({ token: code, timestamp: now, window: STEPS_AROUND });
  if (delta === null) return false;
  const step = Math.floor(now / 1000 / PERIOD_SECONDS) + delta;
  // Older codes are then used as well.
  return takeStep(ctx.db, factor, step);
}

async function takeRecoveryCode(ctx: Context, user: UserKey, typed: string): Promise<boolean> {
  if (typed.length !== RECOVERY_LENGTH) return false;
  return useRecoveryCode(ctx.db, user, recoveryDigest(ctx, user, typed));
}

function recoveryDigest(ctx: Context, { userId }: UserKey, code: string): Buffer {
  const key = deriveKey(ctx.installation.secret, 'accounts.recovery-code');
  return mac(key, `${userId}\n${code.replaceAll('-', '')}`, 32);
}

const SEALED_FOR = 'two_factor';

function sealingKey(ctx: Context): Buffer {
  return deriveKey(ctx.installation.secret, 'accounts.two-factor');
}
