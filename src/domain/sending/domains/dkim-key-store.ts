/** Rows of DKIM keys, each of one sending domain. The private half is sealed. */
import { row, sql, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { DkimAlgorithm } from '../signing/dkim-identity.ts';
import type { NewDkimKey } from '../signing/dkim-keys.ts';
import type { HoldingDomain } from './sending-domain-read-model.ts';
import type { DomainKey } from './sending-domain-store.ts';
import { RETIRED_KEY_DAYS, type DkimKeyStatus, type PublicDkimKey } from './sending-domain.ts';

export interface StoredKey extends PublicDkimKey {
  readonly id: bigint;
}

/** A new key; it signs when it was seen in the DNS. */
export async function insertKey(
  db: Queryable,
  domain: DomainKey,
  key: NewDkimKey & { selector: string; algorithm: DkimAlgorithm },
): Promise<void> {
  await db.execute(sql`
    INSERT INTO dkim_key (customer_id, domain_id, selector, algorithm, public_key, sealed_private_key)
    VALUES (${domain.customerId}, ${domain.id}, ${key.selector}, ${key.algorithm}, ${key.publicKey}, ${key.sealedPrivateKey})`);
}

const STORED_KEY = row({
  id: 'bigint',
  selector: 'text',
  algorithm: typed<StoredKey['algorithm']>('text'),
  publicKey: 'text',
  status: typed<StoredKey['status']>('text'),
});

/** Its keys, the oldest first; without the private halves. */
export async function keysOf(db: Queryable, { customerId, id }: DomainKey): Promise<StoredKey[]> {
  return db.query(
    STORED_KEY,
    sql`
    SELECT id, selector, algorithm, public_key AS "publicKey", status
      FROM dkim_key WHERE customer_id = ${customerId} AND domain_id = ${id} ORDER BY id`,
  );
}

/** Changes a key's status; a retired one loses its private half. */
export async function moveKey(db: Queryable, domain: DomainKey, key: { id: bigint; to: DkimKeyStatus }): Promise<void> {
  await db.execute(sql`
    UPDATE dkim_key SET status = ${key.to}::text, missing_since = NULL,
           retired_at = CASE WHEN ${key.to}::text = 'retired' THEN now() END,
           sealed_private_key = CASE WHEN ${key.to}::text = 'retired' THEN NULL ELSE sealed_private_key END
     WHERE customer_id = ${domain.customerId} AND id = ${key.id}`);
}

/** Keys that never signed are deleted. */
export async function deleteNewKeys(db: Queryable, domain: DomainKey, algorithm: DkimAlgorithm): Promise<void> {
  await db.execute(sql`
    DELETE FROM dkim_key
     WHERE customer_id = ${domain.customerId} AND domain_id = ${domain.id} AND algorithm = ${algorithm} AND status = 'new'`);
}

/** Keeps since when each active key cannot be seen: `missing` cannot, `seen` can; of the others nobody knows. */
export async function noteSeenKeys(
  db: Queryable,
  { customerId, id }: DomainKey,
  { missing, seen }: { missing: readonly string[]; seen: readonly string[] },
): Promise<void> {
  await db.execute(sql`
    UPDATE dkim_key SET missing_since = CASE WHEN selector = ANY(${missing}::text[]) THEN coalesce(missing_since, now()) END
     WHERE customer_id = ${customerId} AND domain_id = ${id} AND status = 'active'
       AND (selector = ANY(${missing}::text[]) OR selector = ANY(${seen}::text[]))`);
}

/** Deletes keys that have been retired for long: nobody checks a signature of theirs any more. */
export async function deleteRetiredKeys(db: Queryable, { customerId, id }: DomainKey): Promise<void> {
  await db.execute(sql`
    DELETE FROM dkim_key WHERE customer_id = ${customerId} AND domain_id = ${id} AND status = 'retired'
       AND retired_at < now() - make_interval(days => ${RETIRED_KEY_DAYS}::int)`);
}

const SIGNING_KEY = row({
  selector: 'text',
  algorithm: typed<DkimAlgorithm>('text'),
  sealed: 'bytea',
});

/** The keys that sign: those whose record was seen at the last look; in the time of grace, all of them. */
export async function signingKeys(
  db: Queryable,
  { customerId, id, status }: HoldingDomain,
): Promise<RowOf<typeof SIGNING_KEY>[]> {
  return db.query(
    SIGNING_KEY,
    sql`SELECT selector, algorithm, sealed_private_key AS sealed FROM dkim_key
         WHERE customer_id = ${customerId} AND domain_id = ${id} AND status = 'active' AND sealed_private_key IS NOT NULL
           AND (missing_since IS NULL OR ${status}::text = 'failing')
         ORDER BY algorithm DESC, id`,
    'sending.signing-keys',
  );
}
