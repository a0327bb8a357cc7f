/** Whether the schema of a database is that of this program. */
import path from 'node:path';
import sql from 'sql-template-tag';
import type { Queryable } from './database.ts';
import { readMigrations } from './migrate.ts';

export const MIGRATIONS = path.join(import.meta.dirname, '..', '..', 'prisma', 'migrations');

export interface MigrationState {
  readonly applied: number;
  readonly missing: readonly string[];
  /** Of a newer version. */
  readonly unknown: readonly string[];
}

export async function migrationState(db: Queryable): Promise<MigrationState> {
  const known = (await readMigrations(MIGRATIONS)).map(({ name }) => name);
  const rows = await db.query(
    { name: 'text' },
    sql`SELECT migration_name::text AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
  );
  const applied = rows.map(({ name }) => name);
  return {
    applied: applied.length,
    missing: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}
