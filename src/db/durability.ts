/** Whether the server keeps what it has said it keeps: the settings without which a crash loses acknowledged rows. */
import { sql, type Queryable } from './database.ts';

export interface DurabilityFault {
  readonly setting: string;
  readonly value: string;
  readonly means: string;
}

const LOSSES: Readonly<Record<string, string>> = {
  fsync: 'after a crash of the machine the database may be lost as a whole',
  full_page_writes: 'after a crash of the machine pages may be broken, without anybody noticing',
  synchronous_commit:
    'after a crash the last answers given are forgotten: people may get a mail twice, and clicks and unsubscribes are lost',
};

/** What is switched off that must be on, as this program's own connections see it. */
export async function durabilityFaults(db: Queryable): Promise<DurabilityFault[]> {
  const rows = await db.query<{ setting: string; value: string }>(
    sql`SELECT name AS setting, setting AS value FROM pg_settings WHERE name = ANY(${Object.keys(LOSSES)}::text[]) AND setting = 'off'`,
  );
  return rows.map(({ setting, value }) => ({ setting, value, means: LOSSES[setting] ?? '' }));
}
