/** Rows of settings of the whole installation, and of what it remembers, by their keys. */
import { sql, row, typed, type Queryable, type RowOf } from '../../db/database.ts';

export async function readSetting<Value>(db: Queryable, key: string): Promise<Value | undefined> {
  const [row] = await db.query({ value: typed<Value>('json') }, sql`SELECT value FROM setting WHERE key = ${key}`);
  return row?.value;
}

const STORED_SETTING_ROW = row({
  /** The key without the prefix. */
  name: 'text',
  value: 'json',
});
export type StoredSetting = RowOf<typeof STORED_SETTING_ROW>;

/** Those whose keys begin with the prefix. */
export function settingsBelow(db: Queryable, prefix: string): Promise<StoredSetting[]> {
  return db.query(
    STORED_SETTING_ROW,
    sql`SELECT substr(key, ${prefix.length + 1}::int) AS name, value FROM setting WHERE starts_with(key, ${prefix})`,
    'installation.settings',
  );
}

/** Inserts a value where there is none; false: there is one. Of several at once one inserts, and the others wait for its commit. */
export async function insertSetting(db: Queryable, key: string, value: unknown): Promise<boolean> {
  const inserted = await db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${key}, ${JSON.stringify(value)}::jsonb) ON CONFLICT DO NOTHING`,
  );
  return inserted === 1;
}

export async function writeSetting(db: Queryable, key: string, value: unknown): Promise<void> {
  await db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${key}, ${JSON.stringify(value)}::jsonb)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = now() WHERE setting.value <> excluded.value`,
  );
}

/** Writes the value unless there is one; answers the one that there is. */
export async function keepSetting(db: Queryable, key: string, value: string): Promise<string | undefined> {
  const [row] = await db.query(
    { value: typed<string>('json') },
    sql`INSERT INTO setting (key, value) VALUES (${key}, ${JSON.stringify(value)}::jsonb)
        ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING value`,
  );
  return row?.value;
}

export async function deleteSettings(db: Queryable, keys: readonly string[]): Promise<void> {
  await db.execute(sql`DELETE FROM setting WHERE key = ANY (${[...keys]}::text[])`);
}
