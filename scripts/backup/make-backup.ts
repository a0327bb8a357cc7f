/**
 * Copies the whole installation into one file, in one snapshot of the database, while the program runs. By COPY in text form:
 * it works with every server of PostgreSQL, needs no superuser, and can be loaded into another version.
 */
import { existsSync } from 'node:fs';
import { link, rename, open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { to as copyTo } from 'pg-copy-streams';
import type { DatabaseClient } from '../../src/db/client.ts';
import type { Migration } from '../../src/db/migrate.ts';
import { version } from '../../src/app/version.ts';
import { linesIn, verifyBackup, writeBackupFile, type BackupHeader, type BackupPart } from './backup-file.ts';
import {
  ownedByPlugins,
  quoted,
  quotedColumns,
  sequencesOf,
  sequencesOfPlugin,
  tablesOf,
  tablesOfPlugin,
  type CatalogTable,
} from './catalog.ts';
import type { Progress } from './progress.ts';

export interface MadeBackup {
  readonly file: string;
  readonly bytes: number;
  readonly rows: number;
}

interface BackupOptions {
  readonly client: DatabaseClient;
  readonly migrations: readonly Migration[];
  /** A file that is not there yet. */
  readonly file: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Writes a backup under a temporary name, reads it again to check it, and gives it its name. On a fault nothing is left. */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const { client, file, progress, signal } = options;
  if (existsSync(file)) throw alreadyThere(file);
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.part`);
  try {
    // Also refuses to write anything meanwhile.
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const header = await headerOf(client);
    const tables = await lockedTables(options);
    progress.begin('Copying', sum(tables.map(({ bytes }) => bytes)));
    await writeBackupFile(temporary, { header, parts: partsOf(options, tables), signal });
    await client.query('COMMIT');
    progress.begin('Checking', 0);
    const rows = await verifyBackup(temporary, signal);
    await giveName(temporary, file);
    return { file, rows, bytes: (await stat(file)).size };
  } finally {
    await rm(temporary, { force: true });
  }
}

/** So that no month is dropped in between. */
async function lockedTables({ client, migrations }: BackupOptions): Promise<CatalogTable[]> {
  const tables = await tablesOf(client, migrations);
  // After the product's: a restore needs the record of the plugins' migrations to make their tables.
  for (const plugin of await ownedByPlugins(client)) tables.push(...(await tablesOfPlugin(client, plugin)));
  await client.query(`LOCK TABLE ${tables.map(quoted).join(', ')} IN ACCESS SHARE MODE`);
  return tables;
}

async function headerOf(client: DatabaseClient): Promise<BackupHeader> {
  const { rows } = await client.query<{ now: Date; serverVersion: string; fingerprint: string | null }>(
    `SELECT now() AS now, current_setting('server_version') AS "serverVersion",
            (SELECT value #>> '{}' FROM setting WHERE key = 'installation.secret_fingerprint') AS fingerprint`,
  );
  const migrations = await client.query<{ name: string }>(
    `SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1`,
  );
  const [row] = rows;
  if (!row) throw new Error('The database has no answer.');
  return {
    madeAt: row.now.toISOString(),
    version: version(),
    serverVersion: row.serverVersion,
    migrations: migrations.rows.map(({ name }) => name),
    secretFingerprint: row.fingerprint,
    hasPluginTables: true,
  };
}

async function* partsOf(
  { client, migrations, progress, signal }: BackupOptions,
  tables: readonly CatalogTable[],
): AsyncGenerator<BackupPart> {
  const copied: { table: string; rows: number }[] = [];
  for (const { bytes: size, ...table } of tables) {
    yield { kind: 'table', table };
    let rows = 0;
    const name = `${table.schema}.${table.name}`;
    const stream = client.query(copyTo(`COPY ${quoted(table)} (${quotedColumns(table)}) TO STDOUT`));
    for await (const bytes of stream) {
      signal.throwIfAborted();
      if (!Buffer.isBuffer(bytes)) continue;
      rows += linesIn(bytes);
      yield { kind: 'data', bytes };
    }
    if (stream.rowCount !== rows) throw new Error(`${name}: ${rows} of ${stream.rowCount} rows arrived.`);
    copied.push({ table: name, rows });
    progress.advance(size, `${name}: ${rows} rows`);
  }
  const sequences = await sequencesOf(client, migrations);
  for (const plugin of await ownedByPlugins(client)) sequences.push(...(await sequencesOfPlugin(client, plugin)));
  yield { kind: 'end', end: { tables: copied, sequences } };
}

/** What file systems without hard links answer: FAT, many network shares. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * By a second link, which fails when somebody has made such a file meanwhile; a rename would replace it. Where there are no links,
 * by a rename after looking.
 */
async function giveName(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file);
  } catch (error) {
    if (existsSync(file)) throw alreadyThere(file);
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!NO_LINKS.has(code)) throw error;
    await rename(temporary, file);
  }
  const folder = await open(path.dirname(file));
  // Some network shares cannot do so with a folder; the file itself is on the disk.
  await folder
    .sync()
    .catch(() => undefined)
    .finally(() => folder.close());
}

function alreadyThere(file: string): Error {
  return new Error(`${file} is there already and is not replaced. Give another name, or delete it first.`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
