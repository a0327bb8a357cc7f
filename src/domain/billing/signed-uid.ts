/** A uid with an expiry, signed for one purpose: for addresses that work without logging in. */
import { deriveKey, mac, sameBytes } from '../../lib/crypto.ts';
import { isUid } from '../../lib/ids.ts';

const TOKEN = /^([0-9a-f]{13})\.([0-9a-z]{1,9})\.([\w-]{22})$/;

export interface Signing {
  readonly secret: string;
  readonly purpose: string;
}

export function signUid(signing: Signing, uid: string, expiresAtSeconds: number): string {
  const expiresAt = expiresAtSeconds.toString(36);
  return `${uid}.${expiresAt}.${tagOf(signing, uid, expiresAt)}`;
}

/** Undefined when it was not made by us for this purpose. Never throws. */
export function readSignedUid(
  signing: Signing,
  token: string,
  now: Date,
): { readonly uid: string; readonly isExpired: boolean } | undefined {
  const [, uid = '', expiresAt = '', tag = ''] = TOKEN.exec(token) ?? [];
  if (!isUid(uid)) return undefined;
  // The texts are compared: several texts decode to the same bytes.
  if (!sameBytes(Buffer.from(tagOf(signing, uid, expiresAt)), Buffer.from(tag))) return undefined;
  return { uid, isExpired: Number.parseInt(expiresAt, 36) * 1_000 <= now.getTime() };
}

function tagOf({ secret, purpose }: Signing, uid: string, expiresAt: string): string {
  return mac(deriveKey(secret, purpose), `${uid}.${expiresAt}`).toString('base64url');
}
