/** Writes what a verifier has said of people of one list, set-wise. */
import { sql, type Queryable } from '../../db/database.ts';
import type { VerifiedAddress } from '../../plugin-api/index.ts';
import type { PersonToVerify } from './verification-read-model.ts';

export interface VerifiedPerson extends Pick<PersonToVerify, 'id' | 'emailKey'>, VerifiedAddress {
  /** Absent: now. */
  readonly verifiedAt?: Date;
}

/**
 * Of those who still have the address that was verified. Locks people by ascending id, as all writers do (subscriber-store.ts). The time of
 * their last change stays: nobody has changed them.
 */
export async function writeVerifications(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
  { people, verifiedBy }: { readonly people: readonly VerifiedPerson[]; readonly verifiedBy: string },
): Promise<number> {
  const ids = people.map(({ id }) => id);
  const ofList = sql`s.customer_id = ${customerId} AND s.list_id = ${listId} AND s.id = ANY (${ids}::bigint[])`;
  // The place of a person in the arrays: as a join, a wrong estimate would compare everybody with everybody.
  const no = sql`array_position(${ids}::bigint[], s.id)`;
  await db.execute(
    sql`SELECT 1 FROM subscriber s WHERE ${ofList} ORDER BY s.id FOR NO KEY UPDATE`,
    'audience.lock_verified',
  );
  return db.execute(
    sql`
    UPDATE subscriber s
       SET verification = (${people.map(({ result }) => result)}::text[])[${no}],
           verification_reasons = nullif((${people.map(({ reasons }) => reasons.join(','))}::text[])[${no}], ''),
           verified_at = coalesce((${people.map(({ verifiedAt }) => verifiedAt ?? null)}::timestamptz[])[${no}], now()), verified_by = ${verifiedBy}
     WHERE ${ofList} AND s.email_key = (${people.map(({ emailKey }) => emailKey)}::text[])[${no}]`,
    'audience.write_verifications',
  );
}
