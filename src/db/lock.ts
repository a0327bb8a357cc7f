/** Locks by a name of our choice, for what no row stands for that could be locked. */
import { sql, type Queryable } from './database.ts';

/** Whoever locks the same name waits until this transaction has ended. */
export async function lockUntilCommit(tx: Queryable, name: string): Promise<void> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`, 'db.lock_until_commit');
}
