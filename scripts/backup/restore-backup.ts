/**
 * Loads a backup into a database, in one transaction: on a fault the database is as it was. The tables are made by the
 * migrations that the backup had; the later ones run afterwards. The restored installation is on hold.
 */
import { from as copyFrom } from 'pg-copy-streams';
import type { DatabaseClient } from '../../src/db/client.ts';
import type { Migration } from '../../src/db/migrate.ts';
import { dropsOf } from '../../src/domain/plugins/plugin-migration-store.ts';
import { linesIn, readHeader, readParts, type BackupEnd, type BackupHeader, type BackupTable } from './backup-file.ts';
import { foreignKeysOf, quoted, quotedColumns, tablesOf, type ForeignKey } from './catalog.ts';
import type { Progress } from './progress.ts';

interface RestoreOptions {
  readonly client: DatabaseClient;
  readonly migrations: readonly Migration[];
  readonly file: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** The migrations to make the tables with. Throws when this version is older than the backup. */
export function migrationsOf({ migrations: names, version }: BackupHeader, known: readonly Migration[]): Migration[] {
  const unknown = names.find((name) => !known.some((migration) => migration.name === name));
  if (unknown !== undefined)
    throw new Error(
      `The backup was made by a newer version (${version}, with ${unknown}). Install that version first.`,
    );
  return known.filter(({ name }) => names.includes(name));
}

/** Replaces all rows of the database by those of the backup, and starts a hold. The tables must be those of the backup. */
export async function restoreBackup(options: RestoreOptions): Promise<BackupEnd> {
  const { client, file, migrations, progress, signal } = options;
  const { header } = await readHeader(file);
  await client.query('BEGIN');
  try {
    // Nobody may start the program on the database in between.
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('mailwright:place', 0))`);
    const existing = await tablesOf(client, migrations);
    await dropTablesOfPlugins(client);
    await client.query(`TRUNCATE ${existing.map(quoted).join(', ')}`);
    const keys = await dropForeignKeys(client);
    for (const table of existing) await client.query(`ALTER TABLE ${quoted(table)} DISABLE TRIGGER USER`);
    const end = await load(options);
    await setSequences(client, end);
    progress.begin('Checking references and making statistics', 0);
    for (const { table, name, definition } of keys) {
      signal.throwIfAborted();
      await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
    }
    const tables = await tablesOf(client, migrations);
    for (const table of tables) await client.query(`ALTER TABLE ${quoted(table)} ENABLE TRIGGER USER`);
    await startHold(client, header);
    await deactivatePlugins(client);
    await client.query(`ANALYZE ${tables.map(quoted).join(', ')}`);
    signal.throwIfAborted();
    await client.query('COMMIT');
    return end;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** They are in no backup. Left here they would have rows of another time, or no record of whose they are. */
async function dropTablesOfPlugins(client: DatabaseClient): Promise<void> {
  const { rows } = await client.query<{ isThere: boolean }>(
    `SELECT to_regclass('plugin_migration') IS NOT NULL AS "isThere"`,
  );
  if (!rows[0]?.isThere) return;
  const { rows: made } = await client.query<{ objects: string[] }>(
    `SELECT DISTINCT ON (vendor, plugin) objects FROM plugin_migration ORDER BY vendor, plugin, no DESC`,
  );
  for (const { objects } of made) for (const statement of dropsOf(objects)) await client.query(statement);
}

/** They are added again at the end, which checks all rows at once instead of one by one. */
async function dropForeignKeys(client: DatabaseClient): Promise<ForeignKey[]> {
  const keys = await foreignKeysOf(client);
  for (const { table, name } of keys) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  return keys;
}

async function load({ client, migrations, file, progress, signal }: RestoreOptions): Promise<BackupEnd> {
  progress.begin('Loading', 0);
  let tables = await tablesOf(client, migrations);
  let copy: ReturnType<typeof openCopy> | undefined;
  for await (const part of readParts(file, signal)) {
    if (part.kind === 'data') {
      if (!copy) throw new Error('The backup has rows without a table.');
      await copy.write(part.bytes);
      progress.advance(part.bytes.length, `${copy.name}: ${copy.rows()} rows`);
      continue;
    }
    await copy?.end();
    copy = undefined;
    if (part.kind === 'end') return part.end;
    // A month of the backup may be missing here; everything else must be the same.
    if (await makeMonth(client, part.table)) tables = await tablesOf(client, migrations);
    requireTable(tables, part.table);
    copy = openCopy(client, part.table);
  }
  throw new Error('The backup has no end.');
}

function openCopy(client: DatabaseClient, table: BackupTable) {
  const stream = client.query(copyFrom(`COPY ${quoted(table)} (${quotedColumns(table)}) FROM STDIN`));
  const ended = new Promise<void>((resolve, reject) => {
    stream.once('finish', resolve);
    stream.once('error', reject);
  });
  ended.catch(() => undefined);
  let rows = 0;
  return {
    name: `${table.schema}.${table.name}`,
    rows: () => rows,
    async write(bytes: Buffer): Promise<void> {
      rows += linesIn(bytes);
      if (!stream.write(bytes)) await Promise.race([ended, new Promise((resolve) => stream.once('drain', resolve))]);
    },
    async end(): Promise<void> {
      stream.end();
      await ended;
    },
  };
}

function requireTable(tables: readonly BackupTable[], table: BackupTable): void {
  const found = tables.find((it) => quoted(it) === quoted(table));
  const differing = table.columns.find((column) => !found?.columns.includes(column));
  if (found && differing === undefined) return;
  const missing = found ? `column ${String(differing)} in ${quoted(table)}` : `table ${quoted(table)}`;
  throw new Error(
    `The backup has a ${missing}, which this version does not have. Restore it with the version it names.`,
  );
}

/** Returns whether a month was missing. */
async function makeMonth(client: DatabaseClient, { schema, name }: BackupTable): Promise<boolean> {
  const [, year, month] = /_(\d{4})_(\d{2})$/.exec(schema === 'hot' ? name : '') ?? [];
  if (year === undefined) return false;
  const day = `${year}-${month}-01`;
  const { rows } = await client.query<{ made: number }>(`SELECT hot.ensure_partitions($1::date, $1::date) AS made`, [
    day,
  ]);
  if (!rows[0]?.made) return false;
  // Triggers of a new partition are on; rows are loaded as they are.
  const made = await client.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c
      WHERE c.relnamespace = 'hot'::regnamespace AND c.relkind = 'r' AND right(c.relname, 8) = $1`,
    [`_${year}_${month}`],
  );
  for (const row of made.rows) await client.query(`ALTER TABLE ${row.name} DISABLE TRIGGER USER`);
  return true;
}

async function setSequences(client: DatabaseClient, { sequences }: BackupEnd): Promise<void> {
  for (const sequence of sequences)
    await client.query('SELECT setval($1::regclass, $2::bigint)', [quoted(sequence), sequence.lastValue]);
}

/** Always: what was under way has been sent since, and only a person knows whether the old installation still runs. */
async function startHold(client: DatabaseClient, { madeAt }: BackupHeader): Promise<void> {
  await client.query(`DELETE FROM setting WHERE key = 'installation.hold'`);
  await client.query(
    `INSERT INTO setting (key, value) VALUES ('installation.hold', jsonb_build_object('since', now(), 'reason', $1::text))`,
    [`It was restored from the backup of ${madeAt.slice(0, 19).replace('T', ' ')} UTC.`],
  );
}

/** Folders and tables of added plugins are in no backup: once the folders are there, an activation makes the tables again. */
async function deactivatePlugins(client: DatabaseClient): Promise<void> {
  const { rows } = await client.query<{ isThere: boolean }>(`SELECT to_regclass('plugin') IS NOT NULL AS "isThere"`);
  if (rows[0]?.isThere)
    await client.query(`UPDATE plugin SET status = 'inactive' WHERE NOT is_bundled AND status = 'active'`);
}
