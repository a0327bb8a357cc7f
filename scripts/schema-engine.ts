/**
 * Prisma's schema engine without its download: the wasm build in Prisma's command line, on a PostgreSQL of our own. It answers
 * one question here: which SQL leads from the migrations to the schema?
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQuery,
  type SqlResultSet,
} from '@prisma/driver-adapter-utils';
import * as engineModule from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import type { Migration } from '../src/db/migrate.ts';
import { messageOf } from '../src/lib/errors.ts';

/** PostgreSQL's one-byte type `"char"`, which its catalogues use and the adapter does not know. */
const CHAR_OID = 18;
/** `character(n)`: the adapter reads its values the same way, though it calls them text. */
const BPCHAR_OID = 1042;

export interface SchemaFile {
  readonly path: string;
  readonly content: string;
}

export interface SchemaDifference {
  /** A database at `url` with the right to create databases; nothing is written to it. */
  readonly url: string;
  readonly schema: SchemaFile;
  readonly migrations: readonly Migration[];
}

/** The SQL that is missing after the migrations to reach the schema; empty when they agree. */
export async function findMissingSql({ url, schema, migrations }: SchemaDifference): Promise<string> {
  await (engineStarted ??= startEngine());
  const adapter = bindMigrationAwareSqlAdapterFactory(adapterFactory(url));
  const engine = await engineModule.SchemaEngine.new(
    { datamodels: [[schema.path, schema.content]] },
    () => undefined,
    adapter,
  );
  try {
    const { exitCode, stdout } = await engine.diff({
      from: { tag: 'migrations', ...migrationList(migrations) },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: true,
      filters: { externalTables: [], externalEnums: [] },
    });
    // As in Prisma's command line: 0 is no difference, 2 is a difference.
    return exitCode === 2 ? (stdout ?? '').trim() : '';
  } catch (error) {
    // The engine knows our errors by number only.
    const id = /error id#(\d+)/.exec(String(error))?.[1];
    const original = id === undefined ? undefined : adapter.errorRegistry.consumeError(Number(id))?.error;
    throw original instanceof Error ? new Error(`${firstLine(error)} ${original.message}`, { cause: error }) : error;
  } finally {
    engine.free();
  }
}

function firstLine(error: unknown): string {
  return messageOf(error).split('\n')[0]?.trim() ?? '';
}

/** A second instance would share the binding's memory with the first, so there is one per process. */
let engineStarted: Promise<void> | undefined;

/** Does what a bundler would do with the package's own entry, which imports the wasm file as a module. */
async function startEngine(): Promise<void> {
  const entry = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const wasm = await readFile(path.join(path.dirname(entry), 'schema_engine_bg.wasm'));
  // Here the engine reports why it stops; without it there would be another error.
  Reflect.set(globalThis, 'PRISMA_WASM_PANIC_REGISTRY', { set_message: (message: string) => console.error(message) });
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': { ...engineModule } });
  call(engineModule, '__wbg_set_wasm', instance.exports);
  call(instance.exports, '__wbindgen_start');
}

/** The binding's own entry points are not in its types. */
function call(holder: object, name: string, ...values: readonly unknown[]): void {
  const method: unknown = Reflect.get(holder, name);
  if (typeof method !== 'function') throw new Error(`The schema engine has no ${name}: its package has changed.`);
  Reflect.apply(method, holder, values);
}

function migrationList(migrations: readonly Migration[]) {
  return {
    baseDir: 'prisma/migrations',
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, script }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: script } },
    })),
  };
}

/** Prisma's factory would use the real database as the shadow one, and drop it before its pool has released it. */
function adapterFactory(url: string): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect: () => openAdapter(url),
    async connectToShadowDb() {
      const name = `shadow_${crypto.randomUUID().replaceAll('-', '')}`;
      await runAlone(url, `CREATE DATABASE ${name} TEMPLATE template0`);
      const shadow = new URL(url);
      shadow.pathname = `/${name}`;
      const adapter = await openAdapter(shadow.href);
      const dispose = adapter.dispose.bind(adapter);
      return Object.assign(adapter, {
        dispose: () => dispose().finally(() => runAlone(url, `DROP DATABASE ${name} WITH (FORCE)`)),
      });
    },
  };
}

async function openAdapter(url: string): Promise<SqlDriverAdapter> {
  const pool = new pg.Pool({ connectionString: url });
  const query = pool.query.bind(pool);
  // Rows with a `"char"` column: the adapter passes the same array on.
  const charColumns = new WeakMap<object, ReadonlySet<number>>();
  const queryWithoutChar = async (statement: pg.QueryArrayConfig): Promise<pg.QueryArrayResult> => {
    const result = await query(statement);
    charColumns.set(result.rows, replaceCharType(result.fields));
    return result;
  };
  Object.assign(pool, { query: queryWithoutChar });
  const adapter = await new PrismaPg(pool, { disposeExternalPool: true }).connect();
  const queryRaw = adapter.queryRaw.bind(adapter);
  return Object.assign(adapter, {
    async queryRaw(statement: SqlQuery): Promise<SqlResultSet> {
      const result = await queryRaw(statement);
      const chars = charColumns.get(result.rows);
      const columnTypes = result.columnTypes.map((type, index) =>
        chars?.has(index) ? ColumnTypeEnum.Character : type,
      );
      return { ...result, columnTypes };
    },
    // The adapter itself splits a script at every semicolon, also inside function bodies.
    executeScript: async (script: string) => void (await query(script)),
  });
}

/** Gives `"char"` columns a type that the adapter can read, and returns which they were. */
function replaceCharType(fields: readonly pg.FieldDef[]): ReadonlySet<number> {
  const places = new Set<number>();
  for (const [index, field] of fields.entries()) {
    if (field.dataTypeID !== CHAR_OID) continue;
    field.dataTypeID = BPCHAR_OID;
    places.add(index);
  }
  return places;
}

async function runAlone(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
