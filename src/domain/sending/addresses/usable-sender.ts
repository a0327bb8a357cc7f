/** Whether a customer may send from an address: asked when a campaign is started. */
import { sql, type Queryable } from '../../../db/database.ts';
import type { Installation } from '../../context.ts';
import { domainOfAddress } from '../domains/domain-of-address.ts';
import { houseDomainNear } from '../domains/house-domain-near.ts';
import { isVerifiedAddress } from './from-address-store.ts';

/**
 * Why the address cannot be used, as a sentence; undefined when it can. A verified domain of the customer's covers its
 * addresses, and those of its subdomains; a domain that another customer has proved takes a verified address, always, and so
 * does one that receivers take for the installation's own. The house answers for itself.
 */
export async function senderFault(
  db: Queryable,
  { fromAddresses = 'any', bounceDomain }: Pick<Installation, 'fromAddresses' | 'bounceDomain'>,
  sender: { customerId: bigint; email: string },
): Promise<string | undefined> {
  const holder = await domainOfAddress(db, sender.email);
  if (holder?.customerId === sender.customerId || (await isVerifiedAddress(db, sender))) return undefined;
  if (await isHouse(db, sender.customerId)) return undefined;
  if (holder) return `The domain ${holder.name} belongs to another customer: verify the address ${sender.email} first.`;
  const house = await houseDomainNear(db, { email: sender.email, bounceDomain });
  if (house !== undefined)
    return `Receivers take it for mail of ${house}, which is this installation's: verify the address ${sender.email} first.`;
  if (fromAddresses === 'any') return undefined;
  return `Verify the from address ${sender.email}, or its domain, first.`;
}

async function isHouse(db: Queryable, customerId: bigint): Promise<boolean> {
  return (await db.query(sql`SELECT 1 FROM customer WHERE id = ${customerId} AND is_house`)).length > 0;
}
