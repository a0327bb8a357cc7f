/**
 * The address of the page on which an open invoice is paid by the offline way: signed, for this one purpose, with an expiry. Who
 * has the link sees the invoice and may report its payment, and nothing else; so it can be sent to whoever pays. Payment
 * gateways will have addresses of their own beside it.
 */
import type { Installation } from '../context.ts';
import { deriveKey, mac, sameBytes } from '../../lib/crypto.ts';
import { isUid } from '../../lib/ids.ts';

export const CHECKOUT_PATH = '/checkout/offline';

const PURPOSE = 'checkout-offline';
const DAY_SECONDS = 24 * 60 * 60;
/** A transfer between banks takes some days. Every answer that shows the invoice has a fresh link. */
export const CHECKOUT_DAYS = 14;
const TOKEN = /^([0-9a-f]{13})\.([0-9a-z]{1,9})\.([\w-]{22})$/;

/** The address for an invoice; the same all day, and valid for at least `CHECKOUT_DAYS`. */
export function checkoutUrl({ baseUrl, secret }: Installation, invoiceUid: string, now: Date): string {
  const today = Math.floor(now.getTime() / 1_000 / DAY_SECONDS);
  const expiresAt = ((today + 1 + CHECKOUT_DAYS) * DAY_SECONDS).toString(36);
  return `${baseUrl}${CHECKOUT_PATH}/${invoiceUid}.${expiresAt}.${tagOf(secret, invoiceUid, expiresAt)}`;
}

/** The invoice of a token, and whether the token has expired; undefined when it was not made by us. Never throws. */
export function readCheckoutToken(
  { secret }: Installation,
  token: string,
  now: Date,
): { invoiceUid: string; isExpired: boolean } | undefined {
  const [, invoiceUid = '', expiresAt = '', tag = ''] = TOKEN.exec(token) ?? [];
  if (!isUid(invoiceUid)) return undefined;
  // The texts are compared: several texts decode to the same bytes.
  if (!sameBytes(Buffer.from(tagOf(secret, invoiceUid, expiresAt)), Buffer.from(tag))) return undefined;
  return { invoiceUid, isExpired: Number.parseInt(expiresAt, 36) * 1_000 <= now.getTime() };
}

function tagOf(secret: string, invoiceUid: string, expiresAt: string): string {
  return mac(deriveKey(secret, PURPOSE), `${invoiceUid}.${expiresAt}`).toString('base64url');
}
