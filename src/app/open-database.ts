/** Opens a database, the operator's own or the embedded one, and prepares everything that must be in it. */
import path from 'node:path';
import { Logger, runMigrations } from 'graphile-worker';
import type { Settings } from '../config/settings.ts';
import { openDatabase, type Database } from '../db/database.ts';
import { checkServer } from '../db/check-server.ts';
import { startEmbeddedDatabase, type EmbeddedDatabase, type EmbeddedOptions } from '../db/embedded.ts';
import { MIGRATIONS } from '../db/migration-state.ts';
import { migrate, readMigrations } from '../db/migrate.ts';
import { JOB_LIMITS } from '../db/work-limits.ts';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { isDenied, missingRights } from './missing-rights.ts';

export interface OpenDatabase {
  readonly database: Database;
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

/** How the embedded database is started: by this process, or by its parent. */
export type StartEmbedded = (options: EmbeddedOptions) => Promise<EmbeddedDatabase>;

/** Opens the database and migrates it. Throws with a sentence that says what to do. */
export async function openMigratedDatabase(
  settings: Settings,
  log: Log,
  start: StartEmbedded = startEmbeddedDatabase,
): Promise<OpenDatabase> {
  const folder = path.resolve(settings.DATA_DIR, 'postgres');
  const embedded = settings.DATABASE_URL === '' ? await start({ folder }) : undefined;
  const url = embedded?.url ?? settings.DATABASE_URL;
  const database = openDatabase({ url, poolSize: poolSizesOf(settings).work, log, limits: JOB_LIMITS });
  try {
    if (!embedded) await checkServer(url);
    const migrations = await readMigrations(MIGRATIONS);
    const place = embedded ? `move the folder ${folder} away` : 'give an empty database in DATABASE_URL';
    await migrate({ url, migrations, log, place, afterwards: () => migrateQueue(database) });
  } catch (error) {
    const denied = await deniedError(error, url);
    await database.close();
    await embedded?.stop();
    throw denied ?? error;
  }
  return {
    database,
    isEmbedded: embedded !== undefined,
    async close() {
      await database.close();
      await embedded?.stop();
    },
  };
}

/** Four may count segments for many seconds (`segment-read-model.ts`); other requests need connections, too. */
const REQUEST_CONNECTIONS_MIN = 6;
/** Some work needs two connections at the same time. */
const WORK_CONNECTIONS_MIN = 4;

/** In a process that serves requests, requests get half of the connections and all other work gets the other half. */
export function poolSizesOf({ DB_POOL_SIZE, ROLES }: Settings): { readonly requests: number; readonly work: number } {
  if (!ROLES.includes('web')) return { requests: 0, work: DB_POOL_SIZE };
  const requests = Math.max(REQUEST_CONNECTIONS_MIN, Math.floor(DB_POOL_SIZE / 2));
  return { requests, work: Math.max(WORK_CONNECTIONS_MIN, DB_POOL_SIZE - requests) };
}

/** Says which rights to grant, if missing rights are the cause. */
async function deniedError(error: unknown, url: string): Promise<Error | undefined> {
  const sentence = isDenied(error) ? await missingRights(url) : undefined;
  if (sentence === undefined) return undefined;
  return new Error(`The database of DATABASE_URL cannot be used (${messageOf(error)}). ${sentence}`, { cause: error });
}

/** The queue's own tables. Its migrations are safe when several processes run them. */
export async function migrateQueue(database: Pick<Database, 'openPool'>): Promise<void> {
  const pgPool = database.openPool({ size: 1, applicationName: 'mailwright-queue' });
  pgPool.on('error', () => undefined);
  try {
    await runMigrations({ pgPool, logger: new Logger(() => () => undefined) });
  } finally {
    await pgPool.end();
  }
}
