/**
 * The installation's own domain that is so near to an address that receivers take its mail for the operator's: the default
 * domain, whose signature DMARC counts for its whole organization, or the bounce domain, whose SPF it counts.
 */
import { z } from 'zod';
import type { Queryable } from '../../../db/database.ts';
import { asciiDomainOf, isAtOrBelow } from '../../../lib/mail-domain.ts';
import { findDefaultDomain } from './sending-domain-read-model.ts';
import { domainChecks } from './sending-domain.ts';

/** The name of that domain, or undefined. */
export async function operatorDomainNear(
  db: Queryable,
  { email, bounceDomain = '' }: { email: string; bounceDomain?: string | undefined },
): Promise<string | undefined> {
  const from = asciiDomainOf(email);
  if (bounceDomain !== '' && isNear(from, bounceDomain)) return bounceDomain;
  const domain = await findDefaultDomain(db);
  if (!domain) return undefined;
  const organization = checkedOrganization.parse(domain.checks) ?? domain.name;
  return isNear(from, domain.name) || isAtOrBelow(from, organization) ? domain.name : undefined;
}

/** RFC 9989 4.10.2, from the last check. A single label is no organization. */
const checkedOrganization = z
  .unknown()
  .transform((checks) => domainChecks.safeParse(checks).data?.dmarc?.organizationalDomain)
  .transform((name) => (name?.includes('.') ? name : undefined));

/** Above it, too: many receivers know the organization of a domain without DNS queries. */
function isNear(name: string, other: string): boolean {
  return isAtOrBelow(name, other) || isAtOrBelow(other, name);
}
