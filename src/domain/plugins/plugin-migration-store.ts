/** The migrations of plugins: running their scripts, and the record of those that were applied. */
import { raw, row, sql, type Queryable, type RowOf } from '../../db/database.ts';
import type { PluginKey } from '../plugin-host.ts';

const APPLIED_ROW = row({
  no: 'int',
  name: 'text',
  checksum: 'text',
  upSql: 'text',
  downSql: 'text?',
  /** All that belonged to the plugin after it. */
  objects: 'text[]',
});
export type AppliedMigration = RowOf<typeof APPLIED_ROW>;

/** In the order in which they were applied. */
export function appliedMigrations(db: Queryable, { vendor, name }: PluginKey): Promise<AppliedMigration[]> {
  return db.query(
    APPLIED_ROW,
    sql`SELECT no, name, checksum, up_sql AS "upSql", down_sql AS "downSql", objects FROM plugin_migration
         WHERE vendor = ${vendor} AND plugin = ${name} ORDER BY no`,
  );
}

/** What belongs to a plugin of any vendor, and whose it is. */
export function ownedObjects(db: Queryable) {
  return db.query(
    { vendor: 'text', plugin: 'text', objects: 'text[]' },
    sql`SELECT DISTINCT ON (vendor, plugin) vendor, plugin, objects FROM plugin_migration ORDER BY vendor, plugin, no DESC`,
  );
}

/** Vendors with a plugin or with tables of a deleted one. */
export async function knownVendors(db: Queryable): Promise<string[]> {
  const rows = await db.query(
    { vendor: 'text' },
    sql`SELECT vendor FROM plugin UNION SELECT vendor FROM plugin_migration`,
  );
  return rows.map(({ vendor }) => vendor);
}

export interface NewMigration extends PluginKey {
  readonly no: number;
  readonly file: string;
  readonly checksum: string;
  readonly upSql: string;
  readonly downSql: string | null;
  readonly objects: readonly string[];
}

export async function recordMigration(db: Queryable, done: NewMigration): Promise<void> {
  const { vendor, name, no, file, checksum, upSql, downSql, objects } = done;
  await db.execute(sql`
    INSERT INTO plugin_migration (vendor, plugin, no, name, checksum, up_sql, down_sql, objects)
    VALUES (${vendor}, ${name}, ${no}, ${file}, ${checksum}, ${upSql}, ${downSql}, ${[...objects]}::text[])`);
}

export async function deleteMigrationRows(db: Queryable, { vendor, name }: PluginKey): Promise<void> {
  await db.execute(sql`DELETE FROM plugin_migration WHERE vendor = ${vendor} AND plugin = ${name}`);
}

/**
 * From here on the transaction reads one state of the catalog, whatever others commit meanwhile: what differs later was changed by
 * this transaction. Must be its first statement.
 */
export async function readOneState(tx: Queryable): Promise<void> {
  await tx.execute(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`);
}

/**
 * Runs a script of any number of statements. It cannot end the transaction: inside a DO block PostgreSQL refuses COMMIT, ROLLBACK and
 * SAVEPOINT. Checks that the script put off until the commit are made now.
 */
export async function runScript(tx: Queryable, script: string): Promise<void> {
  await tx.execute(
    sql`SELECT set_config('mailwright.script', ${script}, true), set_config('search_path', 'public', true)`,
  );
  await tx.execute(sql`DO $$ BEGIN EXECUTE current_setting('mailwright.script'); END $$`);
  await tx.execute(sql`SET CONSTRAINTS ALL IMMEDIATE`);
}

/** Kinds of objects in an order in which they can be dropped. */
const DROP_ORDER = [
  ...['view', 'materialized view', 'table', 'foreign table', 'sequence'],
  ...['aggregate', 'procedure', 'function', 'composite type', 'type'],
] as const;

/** Drops objects of a plugin's record, such as `table public.acme_note`, which the database itself has quoted. */
export async function dropObjects(tx: Queryable, objects: readonly string[]): Promise<void> {
  for (const statement of dropsOf(objects)) await tx.execute(raw(statement));
}

/** The statements that drop them, in their order. */
export function dropsOf(objects: readonly string[]): readonly string[] {
  return DROP_ORDER.flatMap((kind) =>
    objects
      .filter((each) => each.startsWith(`${kind} `))
      .map((object) => `DROP ${kind.toUpperCase()} IF EXISTS ${object.slice(kind.length + 1)} CASCADE`),
  );
}
