/** Checks the server's settings without which a crash loses acknowledged rows. */
import { sql, type Queryable } from './database.ts';

export interface DurabilityFault {
  readonly setting: string;
  readonly value: string;
  readonly means: string;
}

const LOSSES: Readonly<Record<string, string>> = {
  fsync: 'after a crash of the machine, the whole database may be lost',
  full_page_writes: 'after a crash of the machine, data may be damaged without notice',
  synchronous_commit:
    'after a crash the latest changes are lost: people may get a mail twice, and clicks and unsubscribes are missing',
};

/** Settings that are off and must be on, as this program's own connections see them. */
export async function durabilityFaults(db: Queryable): Promise<DurabilityFault[]> {
  const rows = await db.query(
    { setting: 'text', value: 'text' },
    sql`SELECT name AS setting, setting AS value FROM pg_settings WHERE name = ANY(${Object.keys(LOSSES)}::text[]) AND setting = 'off'`,
  );
  return rows.map(({ setting, value }) => ({ setting, value, means: LOSSES[setting] ?? '' }));
}
