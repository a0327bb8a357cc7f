/** OAuth access tokens of PayPal: one for each application, kept until shortly before it expires. */
import { createHash } from 'node:crypto';
import type { PayPalSettings } from './settings.ts';

/** A request that is on its way must not find its token expired. */
const SPARE_MS = 60_000;
/** An installation has a few gateways; more are those whose settings were changed since. */
const KEPT_MAX = 100;

export interface AccessToken {
  readonly text: string;
  readonly lifeMs: number;
}

interface Kept {
  readonly token: Promise<AccessToken>;
  /** While it is asked for: for ever, all wait for one answer. */
  expiresAt: number;
}

const kept = new Map<string, Kept>();

/** A token that is valid as far as we know. One that could not be got is not kept. */
export async function accessToken(settings: PayPalSettings, ask: () => Promise<AccessToken>): Promise<string> {
  const key = keyOf(settings);
  const known = kept.get(key);
  if (known && known.expiresAt > Date.now()) return (await known.token).text;
  const asked: Kept = { token: ask(), expiresAt: Number.POSITIVE_INFINITY };
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(key, asked);
  try {
    const { text, lifeMs } = await asked.token;
    asked.expiresAt = Date.now() + lifeMs - SPARE_MS;
    return text;
  } catch (error) {
    if (kept.get(key) === asked) kept.delete(key);
    throw error;
  }
}

/** PayPal refused this token: the next request asks for another one. Another token, which somebody else has got meanwhile, stays. */
export async function dropToken(settings: PayPalSettings, refused: string): Promise<void> {
  const key = keyOf(settings);
  const known = kept.get(key);
  if (known && (await known.token).text === refused && kept.get(key) === known) kept.delete(key);
}

function keyOf({ mode, clientId, clientSecret }: PayPalSettings): string {
  return createHash('sha256')
    .update(JSON.stringify([mode, clientId, clientSecret]))
    .digest('base64');
}
