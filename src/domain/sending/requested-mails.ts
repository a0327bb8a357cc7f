/**
 * Limits of mails outside of campaigns to addresses that only the customer has named: tests, and links that verify a sender. They
 * are counted in windows (`db/rate-windows`) and not by the rows of tests and senders, because a customer can delete those.
 */
import type { Queryable } from '../../db/database.ts';
import { takeFromWindows, type WindowLimit } from '../../db/rate-windows.ts';
import { deriveKey, mac } from '../../lib/crypto.ts';
import { emailKey } from '../../lib/text.ts';

/**
 * Counts `mails` in all windows, or in none. Returns undefined when the mails may be sent, else the seconds until one more may
 * be.
 */
export async function countRequestedMails(
  db: Queryable,
  limits: readonly WindowLimit[],
  mails = 1,
): Promise<number | undefined> {
  const { refusedBy } = await takeFromWindows(db, limits, mails);
  return refusedBy && Math.max(1, Math.ceil(refusedBy.endsInSeconds));
}

/** A keyed digest: the address cannot be read from it. */
export function requestedAddress(secret: string, email: string): string {
  return mac(deriveKey(secret, 'asked-mail'), emailKey(email)).toString('base64url');
}
