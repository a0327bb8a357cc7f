/** What keeps a dry run from changing anything. */
import { sql, type Queryable } from '../../../db/database.ts';

/** The database refuses every change from here on, until the transaction ends. */
export async function refuseWrites(db: Queryable): Promise<void> {
  await db.execute(sql`SET TRANSACTION READ ONLY`);
}
