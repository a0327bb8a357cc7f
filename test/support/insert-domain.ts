/** A sending domain of a tenant as the walks over all rows and mutations need it. */
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { RestApp } from './rest-app.ts';

/** With a key that signed once and one address, so that every table of the noun has a row. */
export async function insertDomain({ ctx: { db } }: RestApp, owner: bigint, uid: string): Promise<void> {
  await db.execute(sql`
    WITH d AS (INSERT INTO sending_domain (customer_id, uid, name, token, return_path_host, tracking_host)
               VALUES (${owner}, ${uid}, ${`${uid}.example`}, ${newUid()}, ${`bounces.${uid}.example`}, ${`links.${uid}.example`})
               RETURNING customer_id, id)
    INSERT INTO dkim_key (customer_id, domain_id, selector, algorithm, public_key, status)
    SELECT customer_id, id, 'mw1', 'rsa-sha256', 'AAAA', 'active' FROM d`);
  await db.execute(
    sql`INSERT INTO from_address (customer_id, uid, email, email_key) VALUES (${owner}, ${newUid()}, ${`${uid}@sender.example`}, ${`${uid}@sender.example`})`,
  );
}
