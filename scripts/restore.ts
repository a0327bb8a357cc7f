/**
 * `npm run restore -- <file> [--yes]`: loads a backup into the database that the settings name, the embedded one or the operator's
 * own. The restored installation sends nothing until `npm run end-hold`.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fingerprintOf } from '../src/app/installation.ts';
import { migrateQueue } from '../src/app/open-database.ts';
import { loadConfig } from '../src/config/load-config.ts';
import type { Settings } from '../src/config/settings.ts';
import { checkServer } from '../src/db/check-server.ts';
import { openDatabase, type Database } from '../src/db/database.ts';
import { startEmbeddedDatabase } from '../src/db/embedded.ts';
import { MIGRATIONS } from '../src/db/migration-state.ts';
import { migrate, readMigrations } from '../src/db/migrate.ts';
import { silentLog } from '../src/lib/log.ts';
import { readHeader, verifyBackup, type BackupHeader } from './backup/backup-file.ts';
import { showProgress } from './backup/progress.ts';
import { foldersAdvice } from './backup/plugin-folders.ts';
import { migrationsOf, restoreBackup } from './backup/restore-backup.ts';
import { requireTarget } from './backup/restore-target.ts';
import { runCancellable } from './support/run-cancellable.ts';

const USAGE = `npm run restore -- <file>         loads a backup into an empty database (see DATA_DIR and DATABASE_URL)
npm run restore -- <file> --yes   also into one that holds an installation: everything in it is replaced`;

const given = process.argv.slice(2);
const isSure = given.includes('--yes');
const [file, ...more] = given.filter((word) => word !== '--yes');
if (file === '--help' || file === '-h') console.log(USAGE);
else if (file === undefined || file.startsWith('-') || more.length > 0) {
  console.error(USAGE);
  process.exitCode = 1;
} else await runCancellable((signal) => restore(path.resolve(file), signal));

async function restore(backup: string, signal: AbortSignal): Promise<void> {
  const settings = loadConfig(process.env);
  const { header } = await readHeader(backup);
  const progress = showProgress();
  progress.begin('Checking the file', 0);
  const rows = await verifyBackup(backup, signal);
  let advice: readonly string[] = [];
  await withTarget(settings, async (database) => {
    const [known, client] = await Promise.all([readMigrations(MIGRATIONS), database.connect('mailwright-script')]);
    const cancel = (): void => client.destroy('cancelled');
    signal.addEventListener('abort', cancel);
    try {
      const migrations = migrationsOf(header, known);
      await requireTarget(client, { migrations: header.migrations, isSure });
      const afterwards = (): Promise<void> => migrateQueue(database);
      await migrate({ url: database.url, migrations, log: silentLog, afterwards });
      const leftOut = await restoreBackup({ client, migrations, file: backup, progress, signal });
      await migrate({ url: database.url, migrations: known, log: silentLog, afterwards });
      advice = [...[...leftOut].map(leftOutAdvice), ...(await foldersAdvice(client, path.resolve(settings.DATA_DIR)))];
    } finally {
      signal.removeEventListener('abort', cancel);
      await client.end().catch(() => undefined);
    }
  });
  progress.end();
  console.log(`Restored: ${rows} rows, as of ${header.madeAt}.`);
  console.log(secretAdvice(settings, header));
  for (const sentence of advice) console.log(sentence);
  console.log('It is on hold and sends nothing. Start the program, look, then run: npm run end-hold');
}

/** The database of the settings; an embedded one is made when there is none. */
async function withTarget(settings: Settings, work: (database: Database) => Promise<void>): Promise<void> {
  const isEmbedded = settings.DATABASE_URL === '';
  if (!isEmbedded) await checkServer(settings.DATABASE_URL);
  const folder = path.resolve(settings.DATA_DIR, 'postgres');
  const embedded = isEmbedded ? await startEmbeddedDatabase({ folder }) : undefined;
  const url = embedded?.url ?? settings.DATABASE_URL;
  const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'mailwright-script' });
  try {
    await work(database);
  } finally {
    await database.close();
    await embedded?.stop();
  }
}

function leftOutAdvice([plugin, reason]: readonly [string, string]): string {
  return `The tables of the plugin ${plugin} were not restored, and it is inactive: ${reason}`;
}

function secretAdvice({ APP_SECRET, DATA_DIR }: Settings, { secretFingerprint }: BackupHeader): string {
  const stored = path.resolve(DATA_DIR, 'secret');
  const secret = APP_SECRET || (existsSync(stored) ? readFileSync(stored, 'utf8').trim() : '');
  if (secret !== '' && secretFingerprint === fingerprintOf(secret)) return 'The secret is the one of the backup.';
  const now = secret === '' ? 'There is no secret here.' : 'The secret here is not the one of the backup.';
  return `${now} Before the first start, copy the file "secret" of the old DATA_DIR to ${stored}, or set APP_SECRET to the old one.`;
}
