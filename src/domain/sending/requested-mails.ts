/**
 * Limits of mails that a customer sends, outside of campaigns, to addresses that nobody but itself has named: tests, and links
 * that verify a sender. They are counted in windows (`db/rate-windows`) and not by the rows of tests and senders: those go when
 * the customer deletes them, and the count would begin anew.
 */
import type { Queryable } from '../../db/database.ts';
import { takeFromWindows, type WindowLimit } from '../../db/rate-windows.ts';
import { deriveKey, mac } from '../../lib/crypto.ts';
import { emailKey } from '../../lib/text.ts';

/**
 * Counts `mails` in all windows, or in none. Answers undefined when the mails may go, else the seconds after which there may be
 * one more.
 */
export async function countRequestedMails(
  db: Queryable,
  limits: readonly WindowLimit[],
  mails = 1,
): Promise<number | undefined> {
  const { refusedBy } = await takeFromWindows(db, limits, mails);
  return refusedBy && Math.max(1, Math.ceil(refusedBy.endsInSeconds));
}

/** A keyed digest: whose address it was cannot be read from it. */
export function requestedAddress(secret: string, email: string): string {
  return mac(deriveKey(secret, 'asked-mail'), emailKey(email)).toString('base64url');
}
