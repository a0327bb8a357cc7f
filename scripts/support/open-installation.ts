/** The installation's database for programs beside the product: the operator's own or the embedded one, running or not. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config.ts';
import { openDatabase, sql, type Database } from '../../src/db/database.ts';
import { startEmbeddedDatabase } from '../../src/db/embedded.ts';
import { silentLog } from '../../src/lib/log.ts';

const WHERE = 'Set DATA_DIR or DATABASE_URL as it is set for npm start.';

/** Runs `work` on the database that the settings name, and closes it. Changes nothing by itself, and makes no database. */
export async function withInstallation<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const settings = loadConfig(process.env);
  const folder = path.join(settings.DATA_DIR, 'postgres');
  const isEmbedded = settings.DATABASE_URL === '';
  if (isEmbedded && !existsSync(path.join(folder, 'data', 'PG_VERSION')))
    throw new Error(`There is no installation in ${path.resolve(settings.DATA_DIR)}. ${WHERE}`);
  const embedded = isEmbedded ? await startEmbeddedDatabase({ folder }) : undefined;
  const database = openDatabase({
    url: embedded?.url ?? settings.DATABASE_URL,
    poolSize: 2,
    log: silentLog,
    applicationName: 'mailwright-script',
  });
  try {
    await requireInstallation(database);
    return await work(database);
  } finally {
    await database.close();
    await embedded?.stop();
  }
}

async function requireInstallation(database: Database): Promise<void> {
  const [row] = await database.query(
    { isThere: 'bool' },
    sql`SELECT to_regclass('public.campaign') IS NOT NULL AS "isThere"`,
  );
  if (!row?.isThere) throw new Error(`The database holds no installation. ${WHERE}`);
}
