/** The locks by which a process proves that it lives: the database frees them when the connection ends. */
import type pg from 'pg';

export async function takeLock(client: pg.Client, name: string): Promise<void> {
  await client.query('SELECT pg_advisory_lock_shared(hashtextextended($1, 0))', [name]);
}

export async function freeLock(client: pg.Client, name: string): Promise<void> {
  await client.query('SELECT pg_advisory_unlock_shared(hashtextextended($1, 0))', [name]);
}
