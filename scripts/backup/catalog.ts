/** What the database consists of, by its own catalog: tables to copy, foreign keys, sequences. */
import pg from 'pg';
import type { DatabaseClient } from '../../src/db/client.ts';
import { statementsOf } from '../../src/db/database.ts';
import type { Migration } from '../../src/db/migrate.ts';
import type { PluginKey } from '../../src/domain/plugin-host.ts';
import { fullName } from '../../src/domain/plugins/plugin.ts';
import { ownedObjects } from '../../src/domain/plugins/plugin-migration-store.ts';
import type { BackupSequence, BackupTable } from './backup-file.ts';

export interface CatalogTable extends BackupTable {
  readonly bytes: number;
}

const TABLE = `n.nspname AS schema, c.relname AS name, pg_table_size(c.oid) AS bytes,
            (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns`;
const WITH_ROWS = `c.relkind = 'r' AND c.relpersistence = 'p'`;
type TableRow = Omit<CatalogTable, 'bytes'> & { readonly bytes: bigint };

/**
 * Tables with rows of their own: partitions, not their parents. Tables without a log (`UNLOGGED`) hold nothing that lasts, and
 * the bookkeeping of migrations is made by migrating. In `public` only the tables of our migrations: another program may have its own there.
 */
export async function tablesOf(client: DatabaseClient, migrations: readonly Migration[]): Promise<CatalogTable[]> {
  const { rows } = await client.query<TableRow>(
    `SELECT ${TABLE} FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE ${WITH_ROWS}
        AND (n.nspname IN ('hot', 'inbox') OR (n.nspname = 'graphile_worker' AND c.relname <> 'migrations')
             OR (n.nspname = 'public' AND c.relname = ANY($1::text[])))
      ORDER BY n.nspname DESC, c.relname`,
    [publicTables(migrations)],
  );
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

/** What the migrations of a plugin have made and not taken back. */
export interface OwnedByPlugin extends PluginKey {
  /** Such as `table public.acme_note`. */
  readonly objects: readonly string[];
}

/** Of all plugins, also of deleted ones whose data was kept. */
export async function ownedByPlugins(client: DatabaseClient): Promise<readonly OwnedByPlugin[]> {
  const { rows } = await client.query<{ isThere: boolean }>(
    `SELECT to_regclass('plugin_migration') IS NOT NULL AS "isThere"`,
  );
  if (!rows[0]?.isThere) return [];
  return (await ownedObjects(statementsOf(client))).map(({ plugin, ...owned }) => ({ ...owned, name: plugin }));
}

/** Tables of one plugin with rows of their own. */
export async function tablesOfPlugin(client: DatabaseClient, plugin: OwnedByPlugin): Promise<CatalogTable[]> {
  const { rows } = await client.query<TableRow>(
    `SELECT ${TABLE} FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE ${WITH_ROWS} AND 'table ' || format('%I.%I', n.nspname, c.relname) = ANY($1::text[]) ORDER BY c.relname`,
    [plugin.objects],
  );
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes), plugin: fullName(plugin) }));
}

/** Sequences of one plugin that were used: those of its own tables, and those that stand alone. */
export async function sequencesOfPlugin(client: DatabaseClient, plugin: OwnedByPlugin): Promise<BackupSequence[]> {
  const { rows } = await client.query<BackupSequence>(
    `SELECT s.schemaname AS schema, s.sequencename AS name, s.last_value::text AS "lastValue" FROM pg_sequences s
      WHERE s.last_value IS NOT NULL
        AND ('sequence ' || format('%I.%I', s.schemaname, s.sequencename) = ANY($1::text[])
             OR EXISTS (SELECT FROM pg_depend d JOIN pg_class t ON t.oid = d.refobjid JOIN pg_namespace n ON n.oid = t.relnamespace
                         WHERE d.objid = format('%I.%I', s.schemaname, s.sequencename)::regclass AND d.deptype IN ('a', 'i')
                           AND 'table ' || format('%I.%I', n.nspname, t.relname) = ANY($1::text[])))
      ORDER BY 1, 2`,
    [plugin.objects],
  );
  return rows.map((row) => ({ ...row, plugin: fullName(plugin) }));
}

function publicTables(migrations: readonly Migration[]): string[] {
  const made = migrations.flatMap(({ script }) => [...script.matchAll(/^CREATE TABLE (?:public\.)?"?(\w+)"? *\(/gm)]);
  return [...new Set(made.map(([, name = '']) => name))];
}

/**
 * All sequences of these tables that were used; in `public` a plugin or another program may have its own. They do not belong to a
 * snapshot: read them after the rows.
 */
export async function sequencesOf(client: DatabaseClient, migrations: readonly Migration[]): Promise<BackupSequence[]> {
  const { rows } = await client.query<BackupSequence>(
    `SELECT s.schemaname AS schema, s.sequencename AS name, s.last_value::text AS "lastValue" FROM pg_sequences s
      WHERE s.last_value IS NOT NULL
        AND (s.schemaname IN ('hot', 'inbox', 'graphile_worker')
             OR (s.schemaname = 'public' AND EXISTS (
                   SELECT FROM pg_depend d JOIN pg_class t ON t.oid = d.refobjid
                    WHERE d.objid = format('%I.%I', s.schemaname, s.sequencename)::regclass AND d.deptype IN ('a', 'i')
                      AND t.relname = ANY($1::text[]))))
      ORDER BY 1, 2`,
    [publicTables(migrations)],
  );
  return rows;
}

export interface ForeignKey {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

/** Those that stand on a table of ours itself; partitions inherit theirs. */
export async function foreignKeysOf(client: DatabaseClient): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS table, quote_ident(k.conname) AS name, pg_get_constraintdef(k.oid) AS definition
       FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE k.contype = 'f' AND k.conparentid = 0 AND n.nspname IN ('public', 'hot', 'inbox', 'graphile_worker') ORDER BY 1, 2`,
  );
  return rows;
}

/** They are added again when all rows are there, which checks all rows at once instead of one by one. */
export async function dropForeignKeys(client: DatabaseClient, keys: readonly ForeignKey[]): Promise<void> {
  for (const { table, name } of keys) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
}

export async function addForeignKeys(client: DatabaseClient, keys: readonly ForeignKey[]): Promise<void> {
  for (const { table, name, definition } of keys)
    await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
}

export function quoted({ schema, name }: Pick<BackupTable, 'schema' | 'name'>): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}

export function quotedColumns({ columns }: BackupTable): string {
  return columns.map((column) => pg.escapeIdentifier(column)).join(', ');
}
