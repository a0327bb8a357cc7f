/**
 * Proof that a worker process lives: a session that holds advisory locks in its names as long as the process lives. When the
 * process is killed the database frees them at once, and others take over its work long before a lease expires.
 */
import type pg from 'pg';
import type { Context } from '../domain/context.ts';
import type { Log } from '../lib/log.ts';

export interface Liveness {
  /** Holds one more name. */
  hold(name: string): Promise<void>;
  /** Frees the name: others may take over what was held in it. */
  unlock(name: string): Promise<void>;
  /** False while the locks are lost: the process must not start anything new. */
  isHeld(): boolean;
  release(): Promise<void>;
}

const RECONNECT_DELAY_MS = 500;

/** Connects and takes the locks; when the connection breaks, it reconnects and takes the same locks again. */
export async function proveLiveness(database: Context['database'], log: Log): Promise<Liveness> {
  const names = new Set<string>();
  let client: pg.Client | undefined;
  let released = false;

  const connect = async (): Promise<void> => {
    const next = await database.connect('mailwright-liveness');
    const lost = (): void => {
      if (client !== next || released) return;
      client = undefined;
      log.warn('worker.liveness_lost');
      retry();
    };
    next.on('error', lost);
    next.on('end', lost);
    for (const name of names) await lock(next, name);
    client = next;
  };
  const retry = (): void => {
    setTimeout(() => void (released ? undefined : connect().catch(retry)), RECONNECT_DELAY_MS).unref();
  };

  await connect();
  return {
    async hold(name) {
      names.add(name);
      if (client) await lock(client, name);
    },
    async unlock(name) {
      names.delete(name);
      await client?.query('SELECT pg_advisory_unlock_shared(hashtextextended($1, 0))', [name]);
    },
    isHeld: () => client !== undefined,
    async release() {
      released = true;
      await client?.end().catch(() => undefined);
    },
  };
}

async function lock(client: pg.Client, name: string): Promise<void> {
  await client.query('SELECT pg_advisory_lock_shared(hashtextextended($1, 0))', [name]);
}

/**
 * Frees the jobs of dead worker pools: those whose lock is free. The queue itself would wait four hours. Returns how many pools
 * were dead.
 */
export async function freeJobsOfDeadPools(database: Context['database']): Promise<number> {
  const { rows } = await database.pool.query<{ pool: string }>(
    `SELECT pool FROM (SELECT DISTINCT locked_by AS pool FROM graphile_worker.jobs WHERE locked_by IS NOT NULL) held
      WHERE pg_try_advisory_xact_lock(hashtextextended(pool, 0))`,
  );
  if (rows.length === 0) return 0;
  await database.pool.query('SELECT graphile_worker.force_unlock_workers($1::text[])', [rows.map((row) => row.pool)]);
  return rows.length;
}
