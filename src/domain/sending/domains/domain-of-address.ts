/**
 * The domain of an address: the nearest verified domain at or above it, of any customer. It decides who signs, and who may use an
 * address as sender.
 */
import { sql, typed, row, type Queryable } from '../../../db/database.ts';
import { asciiDomainOf } from '../../../lib/mail-domain.ts';

export interface HoldingDomain {
  readonly customerId: bigint;
  readonly id: bigint;
  readonly name: string;
  readonly status: 'verified' | 'failing';
}

const DOMAIN_OF_ADDRESS_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  name: 'text',
  status: typed<'verified' | 'failing'>('text'),
});

/** The domain that holds the address, or undefined. */
export async function domainOfAddress(db: Queryable, email: string): Promise<HoldingDomain | undefined> {
  const names = namesAbove(email);
  if (names.length === 0) return undefined;
  const [row] = await db.query(
    DOMAIN_OF_ADDRESS_ROW,
    sql`SELECT customer_id AS "customerId", id, name, status FROM sending_domain
         WHERE name = ANY(${names}::text[]) AND status IN ('verified', 'failing') ORDER BY length(name) DESC LIMIT 1`,
    'sending.domain-of-address',
  );
  return row;
}

/** The domain of an address and all domains above it, down to two labels. */
function namesAbove(email: string): string[] {
  const labels = asciiDomainOf(email).split('.');
  return labels.slice(0, -1).map((_label, index) => labels.slice(index).join('.'));
}
