/** Brings a database up: the operator's own, or the embedded one; then everything that must be in it. */
import path from 'node:path';
import { Logger, runMigrations } from 'graphile-worker';
import pg from 'pg';
import type { Settings } from '../config/settings.ts';
import { openDatabase, type Database } from '../db/database.ts';
import { startEmbeddedDatabase } from '../db/embedded.ts';
import { migrate, readMigrations } from '../db/migrate.ts';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { isDenied, missingRights } from './missing-rights.ts';

export interface OpenDatabase {
  readonly database: Database;
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

const MIGRATIONS = path.join(import.meta.dirname, '..', '..', 'prisma', 'migrations');
/** `UNIQUE NULLS NOT DISTINCT`, and much that the planner does well for us, came with 15. */
const SERVER_VERSION_MIN = 150_000;

/** Opens the database and migrates it. Throws with a sentence that says what to do. */
export async function openMigratedDatabase(settings: Settings, log: Log): Promise<OpenDatabase> {
  const embedded =
    settings.DATABASE_URL === ''
      ? await startEmbeddedDatabase({ folder: path.join(settings.DATA_DIR, 'postgres') })
      : undefined;
  const url = embedded?.url ?? settings.DATABASE_URL;
  try {
    if (!embedded) await checkServer(url);
    await migrate({ url, migrations: await readMigrations(MIGRATIONS), log, afterwards: () => migrateQueue(url) });
  } catch (error) {
    await embedded?.stop();
    throw (await deniedError(error, url)) ?? error;
  }
  const database = openDatabase({ url, poolSize: settings.DB_POOL_SIZE, log });
  return {
    database,
    isEmbedded: embedded !== undefined,
    async close() {
      await database.close();
      await embedded?.stop();
    },
  };
}

/** What to grant, when that is what is wrong. */
async function deniedError(error: unknown, url: string): Promise<Error | undefined> {
  const sentence = isDenied(error) ? await missingRights(url) : undefined;
  if (sentence === undefined) return undefined;
  return new Error(`The database of DATABASE_URL cannot be used (${messageOf(error)}). ${sentence}`, { cause: error });
}

async function checkServer(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version_num') AS version`);
    const version = Number(rows[0]?.version);
    if (version < SERVER_VERSION_MIN)
      throw new Error(`it is version ${Math.floor(version / 10_000)}, and 15 or later is needed`);
  } catch (error) {
    throw new Error(
      `The database of DATABASE_URL cannot be used: ${messageOf(error)}. ` +
        `Check host, port, name and password, or leave DATABASE_URL empty to use the embedded database.`,
      { cause: error },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The queue's own tables; its migrations are careful about running once. */
async function migrateQueue(url: string): Promise<void> {
  await runMigrations({ connectionString: url, logger: new Logger(() => () => undefined) });
}
