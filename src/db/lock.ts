/** Locks by name, for things that have no row to lock. */
import type pg from 'pg';
import { sql, type Queryable } from './database.ts';

/** Another transaction that locks the same name waits until this one has ended. */
export async function lockUntilCommit(tx: Queryable, name: string): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`, 'db.lock_until_commit');
}

/** The same without waiting: false when another transaction has the lock. */
export async function tryLockUntilCommit(tx: Queryable, name: string): Promise<boolean> {
  const [lock] = await tx.query(
    { isMine: 'bool' },
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) AS "isMine"`,
  );
  return lock?.isMine ?? false;
}

/** Held as long as the connection lives; false when another connection has the lock. */
export async function tryLockForSession(client: pg.ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query<{ isMine: boolean }>(
    'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS "isMine"',
    [name],
  );
  return rows[0]?.isMine ?? false;
}
