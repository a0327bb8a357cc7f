/** The migrations that were applied to the database. */
import { sql, type Queryable } from '../../db/database.ts';

export async function appliedMigrationNames(db: Queryable): Promise<readonly string[]> {
  const rows = await db.query(
    { name: 'text' },
    sql`SELECT migration_name::text AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
  );
  return rows.map(({ name }) => name);
}
