/** The installation's database for programs beside the product: the operator's own or the embedded one, running or not. */
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config.ts';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { startEmbeddedDatabase } from '../../src/db/embedded.ts';
import { silentLog } from '../../src/lib/log.ts';

/** Runs `work` on the database that the settings name, and closes it. Changes nothing by itself. */
export async function withInstallation<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const settings = loadConfig(process.env);
  const embedded =
    settings.DATABASE_URL === ''
      ? await startEmbeddedDatabase({ folder: path.join(settings.DATA_DIR, 'postgres') })
      : undefined;
  const database = openDatabase({
    url: embedded?.url ?? settings.DATABASE_URL,
    poolSize: 2,
    log: silentLog,
    applicationName: 'mailwright-script',
  });
  try {
    return await work(database);
  } finally {
    await database.close();
    await embedded?.stop();
  }
}
