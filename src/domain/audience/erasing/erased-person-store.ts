/**
 * People who were erased, known by a keyed digest of their address only (decision record 0069). They are on no list, so sending
 * never checks this: the entry points for addresses do.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { sql, type Queryable, type Sql } from '../../../db/database.ts';
import { deriveKey, mac } from '../../../lib/crypto.ts';
import type { Installation } from '../../context.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';

const DIGEST_BYTES = 32;
/** SHA-256's block: what HMAC pads its key to (RFC 2104). */
const BLOCK_BYTES = 64;
const INNER = 0x36;
const OUTER = 0x5c;

interface DigestKey {
  readonly key: KeyObject;
  readonly inner: Buffer;
  readonly outer: Buffer;
}

const keys = new WeakMap<Installation, DigestKey>();

/** The stored form of an address: useless without the installation's secret, which is not in the database. */
export function addressDigest(installation: Installation, emailKey: string): Buffer {
  return mac(digestKey(installation).key, emailKey, DIGEST_BYTES);
}

/** The same, computed by the database for many addresses at once; `emailKey` is an expression. */
export function digestIn(installation: Installation, emailKey: Sql): Sql {
  const { inner, outer } = digestKey(installation);
  return sql`hot.keyed_digest(${inner}::bytea, ${outer}::bytea, ${emailKey})`;
}

function digestKey(installation: Installation): DigestKey {
  const known = keys.get(installation);
  if (known) return known;
  const bytes = deriveKey(installation.secret, 'erased-person');
  const padded = Buffer.concat([bytes], BLOCK_BYTES);
  const made = {
    key: createSecretKey(bytes),
    inner: Buffer.from(padded.map((byte) => byte ^ INNER)),
    outer: Buffer.from(padded.map((byte) => byte ^ OUTER)),
  };
  keys.set(installation, made);
  return made;
}

export interface ErasedKey {
  readonly customerId: bigint;
  readonly digest: Buffer;
}

/** From now on only the person can add this address again; if suppressed, not even the person. */
export async function rememberErased(db: Queryable, { customerId, digest }: ErasedKey, isSuppressed: boolean) {
  await db.execute(sql`
    INSERT INTO erased_person AS p (customer_id, digest, is_suppressed) VALUES (${customerId}, ${digest}, ${isSuppressed})
    ON CONFLICT (customer_id, digest) DO UPDATE SET is_suppressed = p.is_suppressed OR excluded.is_suppressed, erased_at = now()`);
}

/** The person has come back to this customer by a click of their own. */
export async function deleteErased(db: Queryable, { customerId, digest }: ErasedKey): Promise<void> {
  await db.execute(
    sql`DELETE FROM erased_person WHERE customer_id = ${customerId} AND digest = ${digest} AND NOT is_suppressed`,
    'audience.forget_erased',
  );
}

/** Why an address must not be added to a list of the customer; undefined: it may. */
export type AddressBar = 'suppressed' | 'erased';

/** One look-up of both: suppressed by the customer or the whole installation, or erased. */
export async function barOf(
  db: Queryable,
  { customerId, emailKey, digest }: ErasedKey & { readonly emailKey: string },
): Promise<AddressBar | undefined> {
  const [row] = await db.query(
    { suppressed: 'bool', erased: 'bool' },
    sql`SELECT EXISTS (SELECT 1 FROM suppression WHERE customer_id IN (${customerId}, ${EVERY_CUSTOMER}) AND email_key = ${emailKey})
               OR coalesce(bool_or(e.is_suppressed), false) AS suppressed, count(*) > 0 AS erased
          FROM erased_person e WHERE e.customer_id IN (${customerId}, ${EVERY_CUSTOMER}) AND e.digest = ${digest}`,
    'audience.bar_of',
  );
  if (row?.suppressed) return 'suppressed';
  return row?.erased ? 'erased' : undefined;
}
