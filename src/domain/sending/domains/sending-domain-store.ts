/** Writes of sending domains and their keys, and the reads that the verbs need. */
import { join, sql, typed, row, type Queryable } from '../../../db/database.ts';
import { assignments, insertion, selectList, columnsOf, type ValuesOf } from '../../../db/fields.ts';
import { lockUntilCommit } from '../../../db/lock.ts';
import type { NewDkimKey } from '../signing/dkim-keys.ts';
import type { DkimAlgorithm } from '../signing/dkim-identity.ts';
import { domainColumns, domainFields, newDomainFields } from './sending-domain-fields.ts';
import type { DkimKeyStatus, PublicDkimKey, SendingDomain } from './sending-domain.ts';

export const SENDING_DOMAIN_ROW = columnsOf(domainColumns);

export const DOMAIN_COLUMNS = selectList(domainColumns, 'd');

export interface DomainKey {
  readonly customerId: bigint;
  readonly id: bigint;
}

export interface StoredKey extends PublicDkimKey {
  readonly id: bigint;
}

type NewDomain = Pick<
  SendingDomain,
  'customerId' | 'uid' | 'name' | 'token' | 'isDefault' | 'usesEd25519' | 'returnPathHost' | 'trackingHost'
>;

/** The new domain's id, or undefined when the customer has one of this name. */
export async function insertDomain(db: Queryable, domain: NewDomain): Promise<bigint | undefined> {
  const nextCheckAt = sql`now() + interval '10 minutes'`;
  const [row] = await db.query(
    { id: 'bigint' },
    sql`
    INSERT INTO sending_domain ${insertion(newDomainFields, { ...domain, nextCheckAt })}
    ON CONFLICT (customer_id, name) DO NOTHING RETURNING id`,
  );
  return row?.id;
}

export async function insertKey(
  db: Queryable,
  domain: DomainKey,
  key: NewDkimKey & { selector: string; algorithm: DkimAlgorithm },
): Promise<void> {
  await db.execute(sql`
    INSERT INTO dkim_key (customer_id, domain_id, selector, algorithm, public_key, sealed_private_key)
    VALUES (${domain.customerId}, ${domain.id}, ${key.selector}, ${key.algorithm}, ${key.publicKey}, ${key.sealedPrivateKey})`);
}

/** The customer's domain with this uid; `lock` prevents others from changing or deleting it. */
export async function findDomain(
  db: Queryable,
  key: { customerId: bigint; uid: string },
  lock = false,
): Promise<SendingDomain | undefined> {
  const [row] = await db.query(
    SENDING_DOMAIN_ROW,
    sql`
    SELECT ${DOMAIN_COLUMNS} FROM sending_domain d
     WHERE d.customer_id = ${key.customerId} AND d.uid = ${key.uid} ${lock ? sql`FOR UPDATE` : sql``}`,
  );
  return row;
}

export async function lockDomain(db: Queryable, { customerId, id }: DomainKey): Promise<SendingDomain | undefined> {
  const [row] = await db.query(
    SENDING_DOMAIN_ROW,
    sql`
    SELECT ${DOMAIN_COLUMNS} FROM sending_domain d WHERE d.customer_id = ${customerId} AND d.id = ${id} FOR UPDATE`,
  );
  return row;
}

export async function domainUidExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM sending_domain WHERE uid = ${uid} LIMIT 1`)) > 0;
}

export async function countDomains(db: Queryable, customerId: bigint): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM sending_domain WHERE customer_id = ${customerId}`,
  );
  return row?.count ?? 0;
}

const DKIM_KEY_ROW = row({
  id: 'bigint',
  selector: 'text',
  algorithm: typed<StoredKey['algorithm']>('text'),
  publicKey: 'text',
  status: typed<StoredKey['status']>('text'),
});

/** Its keys, the oldest first; without the private halves. */
export async function keysOf(db: Queryable, { customerId, id }: DomainKey): Promise<StoredKey[]> {
  return db.query(
    DKIM_KEY_ROW,
    sql`
    SELECT id, selector, algorithm, public_key AS "publicKey", status
      FROM dkim_key WHERE customer_id = ${customerId} AND domain_id = ${id} ORDER BY id`,
  );
}

export type DomainChanges = Omit<ValuesOf<typeof domainFields>, 'customerId' | 'uid' | 'name' | 'token'>;

/** Writes the given values. */
export async function updateDomainRow(db: Queryable, domain: DomainKey, changes: DomainChanges): Promise<void> {
  const written = [sql`updated_at = clock_timestamp()`, ...assignments(domainFields, changes)];
  await db.execute(
    sql`UPDATE sending_domain SET ${join(written)} WHERE customer_id = ${domain.customerId} AND id = ${domain.id}`,
  );
}

/** There is one default domain at most. */
export async function unsetDefault(db: Queryable): Promise<void> {
  // For two administrators at once: the second must see the first one's choice.
  await lockUntilCommit(db, 'mailwright:default-domain');
  await db.execute(sql`UPDATE sending_domain SET is_default = false, updated_at = clock_timestamp() WHERE is_default`);
}

export async function deleteDomainRow(db: Queryable, { customerId, id }: DomainKey): Promise<void> {
  await db.execute(sql`DELETE FROM sending_domain WHERE customer_id = ${customerId} AND id = ${id}`);
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
