/**
 * The address of the page on which an open invoice is paid: signed, for this one purpose, with an expiry. Who has the link sees the
 * invoice, may report its payment or go to the checkout of a payment gateway, and nothing else; so it can be sent to whoever pays.
 */
import type { Installation } from '../../context.ts';
import { readSignedUid, signUid } from '../signed-uid.ts';

export const CHECKOUT_PATH = '/checkout/offline';

const PURPOSE = 'checkout-offline';
const DAY_SECONDS = 24 * 60 * 60;
/** A transfer between banks takes some days. Every answer that shows the invoice has a fresh link. */
export const CHECKOUT_DAYS = 14;

/** The address for an invoice; the same all day, and valid for at least `CHECKOUT_DAYS`. */
export function checkoutUrl(installation: Installation, invoiceUid: string, now: Date): string {
  return `${installation.baseUrl}${checkoutPath(installation, invoiceUid, now)}`;
}

/** The same without the beginning of the installation's addresses. */
export function checkoutPath({ secret }: Installation, invoiceUid: string, now: Date): string {
  const today = Math.floor(now.getTime() / 1_000 / DAY_SECONDS);
  const token = signUid({ secret, purpose: PURPOSE }, invoiceUid, (today + 1 + CHECKOUT_DAYS) * DAY_SECONDS);
  return `${CHECKOUT_PATH}/${token}`;
}

/** The invoice of a token, and whether the token has expired; undefined when it was not made by us. Never throws. */
export function readCheckoutToken(
  { secret }: Installation,
  token: string,
  now: Date,
): { invoiceUid: string; isExpired: boolean } | undefined {
  const read = readSignedUid({ secret, purpose: PURPOSE }, token, now);
  return read && { invoiceUid: read.uid, isExpired: read.isExpired };
}
