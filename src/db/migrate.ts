/**
 * Brings the database to the schema of this program. Migrations are Prisma's files with Prisma's own bookkeeping
 * (`_prisma_migrations`, checksums included), so that Prisma's command line agrees. Each migration and its bookkeeping are one
 * transaction: a crash at any statement leaves the database as it was.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { DatabaseClient } from './client.ts';
import { ConnectionWatch } from './connection-watch.ts';

export interface Migration {
  readonly name: string;
  readonly script: string;
}

export interface MigrateOptions {
  readonly url: string;
  readonly migrations: readonly Migration[];
  readonly log: Log;
  /** The folder or database to move away when the data is from before the first release; part of a sentence. */
  readonly place?: string;
  /** Further set-up under the same lock (the job queue's own tables). */
  readonly afterwards?: () => Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** The first migration of the time before the first release. What was made with it is not taken over. */
const BEFORE_FIRST_RELEASE = '20261121000000_domain';
/** A migration beside running processes: while it waits for a table, everything that uses this table waits behind it. */
const AHEAD_LOCK_MS_MAX = 10_000;
const LOCK = `hashtextextended('mailwright:migrations', 0)`;

// The shape Prisma's own engine gives this table.
const BOOKKEEPING = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  varchar(36)  PRIMARY KEY NOT NULL,
    checksum            varchar(64)  NOT NULL,
    finished_at         timestamptz,
    migration_name      varchar(255) NOT NULL,
    logs                text,
    rolled_back_at      timestamptz,
    started_at          timestamptz  NOT NULL DEFAULT now(),
    applied_steps_count integer      NOT NULL DEFAULT 0
  )`;

/** The migrations in a folder of Prisma's layout, in order. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names
      .sort()
      .map(async (name) => ({ name, script: await readFile(path.join(folder, name, 'migration.sql'), 'utf8') })),
  );
}

/**
 * Applies the missing migrations and returns their names. Any number of processes may call it at once: an advisory lock makes
 * them run one after the other. Throws with the migration's name when one fails; nothing of that one stays.
 */
export async function migrate({ url, migrations, log, place, afterwards }: MigrateOptions): Promise<string[]> {
  const client = new DatabaseClient({
    connectionString: url,
    application_name: 'mailwright-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', (error) => log.warn('migrate.connection_lost', { message: error.message }));
  // A statement may take as long as it needs, but a server that hangs is noticed.
  const watch = new ConnectionWatch({ connectionString: url, application_name: 'mailwright-watch' }, log);
  try {
    await client.connect();
    watch.add(client, false);
    await client.beginSession();
    await client.query(`SELECT pg_advisory_lock(${LOCK})`);
    await client.query(BOOKKEEPING);
    const pending = await pendingMigrations(client, migrations, place);
    for (const migration of pending) await apply(client, migration, log);
    if (pending.length > 0) log.info('migrate.done', { applied: pending.length, newest: pending.at(-1)?.name });
    await afterwards?.();
    return pending.map(({ name }) => name);
  } finally {
    // Ending the session frees the lock.
    await client.end();
    watch.close();
  }
}

async function pendingMigrations(
  client: pg.Client,
  migrations: readonly Migration[],
  place = 'use an empty database',
): Promise<Migration[]> {
  const { rows } = await client.query<{ migration_name: string; finished: boolean }>(
    `SELECT migration_name, finished_at IS NOT NULL AS finished FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
  );
  const unfinished = rows.find((row) => !row.finished);
  if (unfinished) {
    throw new Error(
      `Migration ${unfinished.migration_name} was begun by another tool and never finished. ` +
        `Repair the database, then mark it with "prisma migrate resolve", and start again.`,
    );
  }
  if (rows.some((row) => row.migration_name === BEFORE_FIRST_RELEASE)) {
    throw new Error(
      `The database was made by a version before the first release, and cannot be taken over: ${place}, then start again.`,
    );
  }
  const known = new Set(migrations.map(({ name }) => name));
  const strange = rows.filter((row) => !known.has(row.migration_name));
  const allowed = strange.length > 0 ? await stepsOfUpgrade(client) : [];
  const unknown = strange.find((row) => !allowed.includes(row.migration_name));
  if (unknown) {
    throw new Error(
      `The database has migration ${unknown.migration_name}, which this version does not know: ` +
        `it was used by a newer version. Start that version, or restore an older backup.`,
    );
  }
  const applied = new Set(rows.map((row) => row.migration_name));
  return migrations.filter(({ name }) => !applied.has(name));
}

/** Setting with the migrations of an upgrade that has begun: until the newer version has started, the version before works with them. */
export const UPGRADE_STEPS = 'installation.upgrade_steps';

async function stepsOfUpgrade(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ steps: string[] }>(
    `SELECT value AS steps FROM setting WHERE key = '${UPGRADE_STEPS}'`,
  );
  return rows[0]?.steps ?? [];
}

/**
 * Applies migrations of a newer version: the one named, which must be the next, or all that are missing, in one transaction. Returns their
 * names. When one fails nothing was changed.
 */
export async function migrateAhead({
  url,
  migrations,
  log,
  only,
}: MigrateOptions & { readonly only?: string }): Promise<string[]> {
  const client = new DatabaseClient({ connectionString: url, application_name: 'mailwright-migrate' });
  client.on('error', (error) => log.warn('migrate.connection_lost', { message: error.message }));
  try {
    await client.connect();
    await client.beginSession();
    await client.query(`SELECT pg_advisory_lock(${LOCK})`);
    const pending = await pendingMigrations(client, migrations);
    if (only !== undefined && pending[0]?.name !== only)
      throw new Error(`The next migration is ${pending[0]?.name ?? 'none'}, and not ${only}.`);
    const chosen = only === undefined ? pending : pending.slice(0, 1);
    await client.query('BEGIN');
    await client.query(`SET LOCAL lock_timeout = ${AHEAD_LOCK_MS_MAX}`);
    for (const migration of chosen) await applyWithin(client, migration);
    await client.query('COMMIT');
    return chosen.map(({ name }) => name);
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    await client.end();
  }
}

async function applyWithin(client: pg.Client, { name, script }: Migration): Promise<void> {
  try {
    await client.query(script);
    await recordApplied(client, { name, script });
  } catch (error) {
    throw new Error(`Migration ${name} failed and was undone; the database is as it was. ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function recordApplied(client: pg.Client, { name, script }: Migration): Promise<void> {
  const checksum = createHash('sha256').update(script).digest('hex');
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, clock_timestamp(), 1)`,
    [randomUUID(), checksum, name],
  );
}

async function apply(client: pg.Client, { name, script }: Migration, log: Log): Promise<void> {
  const startedAt = performance.now();
  try {
    await client.query('BEGIN');
    await client.query(script);
    await recordApplied(client, { name, script });
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw new Error(`Migration ${name} failed and was undone; the database is as it was. ${messageOf(error)}`, {
      cause: error,
    });
  }
  log.debug('migrate.applied', { migration: name, ms: Math.round(performance.now() - startedAt) });
}
