/**
 * The tables of plugins while a backup is loaded. The migrations that the backup records run again, then the rows are loaded. What fails
 * for one plugin leaves out the tables of that plugin and makes it inactive; everything else is restored.
 */
import type { DatabaseClient } from '../../src/db/client.ts';
import { statementsOf } from '../../src/db/database.ts';
import { dropsOf } from '../../src/domain/plugins/plugin-migration-store.ts';
import { fullName } from '../../src/domain/plugins/plugin.ts';
import { repeatMigrations } from '../../src/domain/plugins/run-migrations.ts';
import { messageOf } from '../../src/lib/errors.ts';
import type { BackupHeader, BackupTable } from './backup-file.ts';
import {
  addForeignKeys,
  dropForeignKeys,
  foreignKeysOf,
  ownedByPlugins,
  quoted,
  tablesOfPlugin,
  type ForeignKey,
  type OwnedByPlugin,
} from './catalog.ts';
import { openCopy, type TableCopy } from './copy-into.ts';

/** Why the tables of a plugin (`vendor/name`) were not restored. */
export type LeftOut = ReadonlyMap<string, string>;

interface Restored extends OwnedByPlugin {
  readonly tables: readonly BackupTable[];
  readonly keys: readonly ForeignKey[];
}

/** SQLSTATE 53: no disk or memory left. No fault of a plugin. */
const NO_RESOURCES = /^53/;

export class RestoredPlugins {
  readonly #client: DatabaseClient;
  readonly #header: BackupHeader;
  readonly #leftOut = new Map<string, string>();
  #restored: Map<string, Restored> | undefined;

  private constructor(client: DatabaseClient, header: BackupHeader) {
    this.#client = client;
    this.#header = header;
  }

  /** Drops the tables of plugins that the database has: they would have rows of another time, or no record of whose they are. */
  static async begin(client: DatabaseClient, header: BackupHeader): Promise<RestoredPlugins> {
    for (const { objects } of await ownedByPlugins(client))
      for (const statement of dropsOf(objects)) await client.query(statement);
    return new RestoredPlugins(client, header);
  }

  get leftOut(): LeftOut {
    return this.#leftOut;
  }

  /** Without those of plugins whose tables are not there. */
  remaining<Of extends { readonly plugin?: string | undefined }>(all: readonly Of[]): readonly Of[] {
    return all.filter(({ plugin }) => plugin === undefined || !this.#leftOut.has(plugin));
  }

  /** Makes the tables of all plugins, empty, without references and triggers. To be called when all rows of the product are there. */
  async makeTables(): Promise<ReadonlyMap<string, Restored>> {
    if (this.#restored) return this.#restored;
    const restored = (this.#restored = new Map<string, Restored>());
    for (const plugin of await ownedByPlugins(this.#client))
      await this.#attempt(plugin, async () => void restored.set(fullName(plugin), await this.#make(plugin)));
    return restored;
  }

  async #make(plugin: OwnedByPlugin): Promise<Restored> {
    if (!this.#header.hasPluginTables) throw new Error('The backup was made by a version that left them out.');
    const client = this.#client;
    await repeatMigrations(statementsOf(client), plugin);
    const tables = await tablesOfPlugin(client, plugin);
    if (tables.length > 0) await client.query(`TRUNCATE ${tables.map(quoted).join(', ')}`);
    for (const table of tables) await client.query(`ALTER TABLE ${quoted(table)} DISABLE TRIGGER USER`);
    const keys = (await foreignKeysOf(client)).filter(({ table }) => plugin.objects.includes(`table ${table}`));
    await dropForeignKeys(client, keys);
    return { ...plugin, tables, keys };
  }

  /** Rows of a plugin that is left out go nowhere. */
  async openCopy(table: BackupTable, plugin: string): Promise<TableCopy> {
    const restored = (await this.makeTables()).get(plugin);
    const nowhere = { name: plugin, rows: () => 0, write: async () => undefined, end: async () => undefined };
    if (!restored || this.#leftOut.has(plugin)) return nowhere;
    let copy: TableCopy = nowhere;
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        copy = nowhere;
        await this.#leaveOut(restored, error);
      }
    };
    await this.#client.query(SAVEPOINT);
    await attempt(async () => void (copy = openCopy(this.#client, table, restored.tables)));
    return {
      name: `${table.schema}.${table.name}`,
      rows: () => copy.rows(),
      write: (bytes) => attempt(() => copy.write(bytes)),
      end: () =>
        attempt(async () => {
          await copy.end();
          if (copy !== nowhere) await this.#client.query(RELEASE);
        }),
    };
  }

  /** When all rows are there: references and triggers, contents of materialized views, the states of the plugins. */
  async end(): Promise<void> {
    const client = this.#client;
    for (const plugin of this.remaining([...(await this.makeTables()).values()].map(named)))
      await this.#attempt(plugin, async () => {
        await addForeignKeys(client, plugin.keys);
        for (const table of plugin.tables) {
          await client.query(`ALTER TABLE ${quoted(table)} ENABLE TRIGGER USER`);
          await client.query(`ANALYZE ${quoted(table)}`);
        }
        for (const object of plugin.objects)
          if (object.startsWith(VIEW)) await client.query(`REFRESH MATERIALIZED VIEW ${object.slice(VIEW.length)}`);
      });
    for (const [plugin, reason] of this.#leftOut)
      await client.query(
        `UPDATE plugin SET status = 'inactive', error = $2 WHERE vendor || '/' || name = $1 AND status = 'active'`,
        [plugin, `Its tables were not restored: ${reason} An activation makes them again, empty.`],
      );
  }

  async #attempt(plugin: OwnedByPlugin, work: () => Promise<void>): Promise<void> {
    await this.#client.query(SAVEPOINT);
    try {
      await work();
      await this.#client.query(RELEASE);
    } catch (error) {
      await this.#leaveOut(plugin, error);
    }
  }

  /** Goes back to the last savepoint and drops what is there of the plugin. A connection that is lost ends the restore. */
  async #leaveOut(plugin: OwnedByPlugin, error: unknown): Promise<void> {
    if (NO_RESOURCES.test(sqlStateOf(error))) throw error;
    await this.#client.query(`ROLLBACK TO ${SAVEPOINT}; ${RELEASE}`);
    for (const statement of dropsOf(plugin.objects)) await this.#client.query(statement);
    this.#leftOut.set(fullName(plugin), messageOf(error));
  }
}

const SAVEPOINT = 'SAVEPOINT plugin';
const RELEASE = `RELEASE ${SAVEPOINT}`;
const VIEW = 'materialized view ';

const named = (restored: Restored) => ({ ...restored, plugin: fullName(restored) });

function sqlStateOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error ? String(error.code) : sqlStateOf(error.cause);
}
