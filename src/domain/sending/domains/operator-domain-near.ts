/**
 * The installation's own domain that is so near to an address that receivers take its mail for the operator's: the default
 * domain, whose signature DMARC counts for its whole organization, or the bounce domain, whose SPF it counts.
 */
import { z } from 'zod';
import { sql, type Queryable } from '../../../db/database.ts';
import { asciiDomainOf, isAtOrBelow } from '../../../lib/mail-domain.ts';
import { domainChecks } from './sending-domain.ts';

/** The name of that domain, or undefined. */
export async function operatorDomainNear(
  db: Queryable,
  { email, bounceDomain = '' }: { email: string; bounceDomain?: string | undefined },
): Promise<string | undefined> {
  const from = asciiDomainOf(email);
  if (bounceDomain !== '' && isNear(from, bounceDomain)) return bounceDomain;
  const [row] = await db.query(
    { name: 'text', checks: 'json' },
    sql`SELECT name, checks FROM sending_domain WHERE is_default AND status IN ('verified', 'failing') LIMIT 1`,
    'sending.default-domain',
  );
  if (!row) return undefined;
  const organization = checkedOrganization.parse(row.checks) ?? row.name;
  return isNear(from, row.name) || isAtOrBelow(from, organization) ? row.name : undefined;
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
