/** Whether a backup may be loaded into a database: nothing is replaced unless the operator is sure, and nobody works with it. */
import type { DatabaseClient } from '../../src/db/client.ts';

/** Throws a sentence that says why not, and what to do. */
export async function requireTarget(
  client: DatabaseClient,
  { migrations, isSure }: { migrations: readonly string[]; isSure: boolean },
): Promise<void> {
  const applied = await appliedMigrations(client);
  if (applied.length === 0) return;
  if (!isSure)
    throw new Error(
      'The database holds an installation. To replace everything in it by the backup, add --yes; or give an empty database in DATABASE_URL, or another DATA_DIR.',
    );
  const later = applied.find((name) => !migrations.includes(name));
  if (later !== undefined)
    throw new Error(
      `The database was migrated further than the backup (${later}). Give an empty database in DATABASE_URL, or another DATA_DIR.`,
    );
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'mailwright%'
        AND application_name <> 'mailwright-script'`,
  );
  if ((rows[0]?.count ?? 0) > 0)
    throw new Error('Mailwright is running with this database. Stop all its processes first.');
}

async function appliedMigrations(client: DatabaseClient): Promise<string[]> {
  const { rows } = await client.query<{ isThere: boolean }>(
    `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS "isThere"`,
  );
  if (!rows[0]?.isThere) return [];
  const { rows: names } = await client.query<{ name: string }>(`SELECT migration_name AS name FROM _prisma_migrations`);
  return names.map(({ name }) => name);
}
