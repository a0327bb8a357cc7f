/** Rows of settings of the whole installation, and of what it remembers, by their keys. */
import { sql, type Queryable } from '../../db/database.ts';

/** Inserts a value where there is none; false: there is one. Of several at once one inserts, and the others wait for its commit. */
export async function insertSetting(db: Queryable, key: string, value: unknown): Promise<boolean> {
  const inserted = await db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${key}, ${JSON.stringify(value)}::jsonb) ON CONFLICT DO NOTHING`,
  );
  return inserted === 1;
}
