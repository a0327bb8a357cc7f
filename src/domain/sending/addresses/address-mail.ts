/** The mail that verifies a sender's address. */
import { databaseNow } from '../../../db/now.ts';
import type { Context } from '../../context.ts';
import { findAddressById } from './from-address-store.ts';
import { addressLink, LINK_DAYS } from './from-address.ts';

const DAY_MS = 86_400_000;

/** The mail, or undefined when the address was verified or deleted meanwhile. */
export async function addressMail(
  { db, installation }: Context,
  { customerId, addressId }: { customerId: bigint; addressId: bigint },
): Promise<{ to: string; subject: string; paragraphs: string[] } | undefined> {
  const address = await findAddressById(db, { customerId, id: addressId });
  if (!address || address.verifiedAt !== null) return undefined;
  const expiresAt = new Date((await databaseNow(db)).getTime() + LINK_DAYS * DAY_MS);
  const link = addressLink(installation, { customerId, id: addressId, expiresAt });
  return {
    to: address.email,
    subject: 'Confirm that you want to send mail from this address',
    paragraphs: [
      `Somebody wants to send mail in the name of ${address.email}. If that is right, open this address and confirm:`,
      link,
      `It works for ${LINK_DAYS} days. If you do not know about this, do nothing.`,
    ],
  };
}
