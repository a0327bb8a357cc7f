/**
 * Proof that a worker process lives: a session that holds advisory locks in its names as long as the process lives. When the
 * process is killed the database frees them at once, and others take over its work long before a lease expires.
 */
import type pg from 'pg';
import type { Context } from '../domain/context.ts';
import { deadPools, unlockPools } from '../jobs/queue-store.ts';
import type { Log } from '../lib/log.ts';
import { freeLock, takeLock } from './liveness-store.ts';

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
    for (const name of names) await takeLock(next, name);
    client = next;
  };
  const retry = (): void => {
    setTimeout(() => void (released ? undefined : connect().catch(retry)), RECONNECT_DELAY_MS).unref();
  };

  await connect();
  return {
    async hold(name) {
      names.add(name);
      if (client) await takeLock(client, name);
    },
    async unlock(name) {
      names.delete(name);
      if (client) await freeLock(client, name);
    },
    isHeld: () => client !== undefined,
    async release() {
      released = true;
      await client?.end().catch(() => undefined);
    },
  };
}

/**
 * Frees the jobs of dead worker pools: those whose lock is free. The queue itself would wait four hours. Returns how many pools
 * were dead.
 */
export async function freeJobsOfDeadPools(database: Context['database']): Promise<number> {
  const pools = await deadPools(database);
  if (pools.length > 0) await unlockPools(database, pools);
  return pools.length;
}
