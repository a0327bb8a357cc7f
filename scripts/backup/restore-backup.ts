/**
 * Loads a backup into a database, in one transaction: on a fault the database is as it was. The tables are made by the
 * migrations that the backup had; the later ones run afterwards. The restored installation is on hold.
 */
import type { DatabaseClient } from '../../src/db/client.ts';
import type { Migration } from '../../src/db/migrate.ts';
import {
  readHeader,
  readParts,
  type BackupEnd,
  type BackupHeader,
  type BackupSequence,
  type BackupTable,
} from './backup-file.ts';
import { addForeignKeys, dropForeignKeys, foreignKeysOf, quoted, tablesOf } from './catalog.ts';
import { openCopy, type TableCopy } from './copy-into.ts';
import type { Progress } from './progress.ts';
import { RestoredPlugins, type LeftOut } from './restored-plugins.ts';

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

/**
 * Replaces all rows of the database by those of the backup, and starts a hold. The tables must be those of the backup; those of
 * plugins are made here. Answers the plugins whose tables could not be restored.
 */
export async function restoreBackup(options: RestoreOptions): Promise<LeftOut> {
  const { client, file, migrations, progress, signal } = options;
  const { header } = await readHeader(file);
  await client.query('BEGIN');
  try {
    // Nobody may start the program on the database in between.
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('mailwright:place', 0))`);
    const existing = await tablesOf(client, migrations);
    const plugins = await RestoredPlugins.begin(client, header);
    await client.query(`TRUNCATE ${existing.map(quoted).join(', ')}`);
    const keys = await foreignKeysOf(client);
    await dropForeignKeys(client, keys);
    for (const table of existing) await client.query(`ALTER TABLE ${quoted(table)} DISABLE TRIGGER USER`);
    const end = await load(options, plugins);
    await setSequences(client, plugins.remaining(end.sequences));
    progress.begin('Checking references and making statistics', 0);
    await addForeignKeys(client, keys);
    await plugins.end();
    const tables = await tablesOf(client, migrations);
    for (const table of tables) await client.query(`ALTER TABLE ${quoted(table)} ENABLE TRIGGER USER`);
    await startHold(client, header);
    await client.query(`ANALYZE ${tables.map(quoted).join(', ')}`);
    signal.throwIfAborted();
    await client.query('COMMIT');
    return plugins.leftOut;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function load(
  { client, migrations, file, progress, signal }: RestoreOptions,
  plugins: RestoredPlugins,
): Promise<BackupEnd> {
  progress.begin('Loading', 0);
  let tables = await tablesOf(client, migrations);
  let copy: TableCopy | undefined;
  for await (const part of readParts(file, signal)) {
    if (part.kind === 'data') {
      if (!copy) throw new Error('The backup has rows without a table.');
      await copy.write(part.bytes);
      progress.advance(part.bytes.length, `${copy.name}: ${copy.rows()} rows`);
      continue;
    }
    await copy?.end();
    copy = undefined;
    if (part.kind === 'end') {
      await plugins.makeTables();
      return part.end;
    }
    if (part.table.plugin !== undefined) {
      copy = await plugins.openCopy(part.table, part.table.plugin);
      continue;
    }
    // A month of the backup may be missing here; everything else must be the same.
    if (await makeMonth(client, part.table)) tables = await tablesOf(client, migrations);
    copy = openCopy(client, part.table, tables);
  }
  throw new Error('The backup has no end.');
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

async function setSequences(client: DatabaseClient, sequences: readonly BackupSequence[]): Promise<void> {
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
