/** A token made by hand and a From address that waits for its mail, of one customer: for the worlds of tests. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { insertApiToken } from '../../src/domain/accounts/api-token-store.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { RestApp } from './rest-app.ts';

/** Their uids. */
export async function insertAccess(
  { ctx: { db } }: RestApp,
  customerId: bigint,
): Promise<{ apiTokenUid: string; fromAddressUid: string }> {
  const [user] = await queryRows<{ id: bigint }>(db, sql`SELECT id FROM app_user WHERE customer_id = ${customerId}`);
  const token = { customerId, userId: user?.id ?? 0n, kind: 'named', name: 'Shop', scopes: ['lists:read'] } as const;
  const { uid: apiTokenUid } = await insertApiToken(db, token);
  const fromAddressUid = newUid();
  const email = `${fromAddressUid}@own.example`;
  await db.execute(
    sql`INSERT INTO from_address (customer_id, uid, email, email_key) VALUES (${customerId}, ${fromAddressUid}, ${email}, ${email})`,
  );
  return { apiTokenUid, fromAddressUid };
}
