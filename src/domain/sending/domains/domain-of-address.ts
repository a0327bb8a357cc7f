/**
 * The domain of an address: the nearest verified domain at or above it, of any customer. It decides who signs, and who may use an
 * address as sender.
 */
import type { Queryable } from '../../../db/database.ts';
import { asciiDomainOf } from '../../../lib/mail-domain.ts';
import { findHoldingDomain, type HoldingDomain } from './sending-domain-read-model.ts';

/** The domain that holds the address, or undefined. */
export async function domainOfAddress(db: Queryable, email: string): Promise<HoldingDomain | undefined> {
  const names = namesAbove(email);
  return names.length === 0 ? undefined : findHoldingDomain(db, names);
}

/** The domain of an address and all domains above it, down to two labels. */
function namesAbove(email: string): string[] {
  const labels = asciiDomainOf(email).split('.');
  return labels.slice(0, -1).map((_label, index) => labels.slice(index).join('.'));
}
