/** What a list's contact lacks of what the law wants in every mailing (CAN-SPAM, and the like of other countries; decision D49). */
import { sql, typed, type Queryable } from '../../db/database.ts';

/** By the names of the API. */
export type ContactPart = 'company' | 'address_1' | 'country_id';

/** Empty: the contact may be shown to recipients. */
export async function missingInContact(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
): Promise<readonly ContactPart[]> {
  const rows = await db.query(
    { part: typed<ContactPart>('text') },
    sql`SELECT p.part
          FROM (VALUES (1)) AS one (row)
          LEFT JOIN list_contact c ON c.customer_id = ${customerId} AND c.list_id = ${listId}
         CROSS JOIN LATERAL (VALUES ('company', trim(c.company)), ('address_1', trim(c.address_1)), ('country_id', c.country_id::text)) AS p (part, value)
         WHERE coalesce(p.value, '') = ''`,
    'audience.missing_in_contact',
  );
  return rows.map(({ part }) => part);
}
