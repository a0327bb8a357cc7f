/** Migrations under bad conditions (HARD-CASES H9): many processes at once, a crash at every statement, a fault. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { migrate, readMigrations, type Migration } from '../../src/db/migrate.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createEmptyDatabase } from '../support/test-database.ts';

const FOLDER = path.resolve('prisma/migrations');
const migrations = await readMigrations(FOLDER);

/** Every table, column, index, constraint, function and trigger of the database, as one text. */
async function schemaOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ line: string }>(`
    SELECT line FROM (
      SELECT format('column %s.%s.%s %s %s %s', table_schema, table_name, column_name, data_type, is_nullable, column_default) AS line FROM information_schema.columns
      UNION ALL SELECT format('index %s', indexdef) FROM pg_indexes
      UNION ALL SELECT format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
      UNION ALL SELECT format('function %s %s', p.proname, p.prosrc) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('hot', 'inbox', 'public')
      UNION ALL SELECT format('trigger %s', pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
    ) everything WHERE line !~ 'pg_catalog|information_schema|pg_toast' ORDER BY 1`);
  await client.end();
  return rows.map((row) => row.line).join('\n');
}

async function applied(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ migration_name: string }>(
    'SELECT migration_name FROM _prisma_migrations ORDER BY 1',
  );
  await client.end();
  return rows.map((row) => row.migration_name);
}

/** Splits outside of dollar quotes: good enough for our own files. */
function statementsOf(script: string): string[] {
  return script
    .split(/(\$\$)/)
    .reduce<{ parts: string[]; inside: boolean }>(
      ({ parts, inside }, piece) => {
        if (piece === '$$') return { parts: [...parts.slice(0, -1), `${parts.at(-1) ?? ''}$$`], inside: !inside };
        const [first = '', ...rest] = inside ? [piece] : piece.split(/;\s*\n/);
        return { parts: [...parts.slice(0, -1), (parts.at(-1) ?? '') + first, ...rest], inside };
      },
      { parts: [''], inside: false },
    )
    .parts.filter((part) => part.replace(/--.*$/gm, '').trim() !== '');
}

describe('migrations', () => {
  it('are applied once by ten processes that start at once', async () => {
    const { url } = await createEmptyDatabase();
    const results = await Promise.all(Array.from({ length: 10 }, () => migrate({ url, migrations, log: silentLog })));
    expect(results.flat().toSorted()).toEqual(migrations.map(({ name }) => name));
    expect(await applied(url)).toEqual(migrations.map(({ name }) => name));
  });

  it('leave the database as it was when one fails, and say which', async () => {
    const { url } = await createEmptyDatabase();
    await migrate({ url, migrations, log: silentLog });
    const before = await schemaOf(url);
    const broken: Migration = {
      name: '29990101000000_broken',
      script: 'CREATE TABLE half (id int); SELECT no_such_function();',
    };
    await expect(migrate({ url, migrations: [...migrations, broken], log: silentLog })).rejects.toThrow(
      /29990101000000_broken failed and was undone.*no_such_function/,
    );
    expect(await schemaOf(url)).toBe(before);
    expect(await applied(url)).not.toContain(broken.name);
  });

  it('refuse a database that a newer version has used', async () => {
    const { url } = await createEmptyDatabase();
    const newer: Migration = { name: '29990101000000_newer', script: 'SELECT 1' };
    await migrate({ url, migrations: [...migrations, newer], log: silentLog });
    await expect(migrate({ url, migrations, log: silentLog })).rejects.toThrow(/newer version/);
  });

  it('refuse a database that was made before the first release, and say what to move away', async () => {
    const { url } = await createEmptyDatabase();
    await migrate({ url, migrations: [{ name: '20261121000000_domain', script: 'SELECT 1' }], log: silentLog });
    await expect(migrate({ url, migrations, log: silentLog, place: 'move the folder x away' })).rejects.toThrow(
      'The database was made by a version before the first release, and cannot be taken over: move the folder x away, then start again.',
    );
  });

  it('end in the same schema after a kill -9 at any statement', async () => {
    const whole = await createEmptyDatabase();
    await migrate({ url: whole.url, migrations, log: silentLog });
    const expected = await schemaOf(whole.url);
    const { url } = await createEmptyDatabase();
    for (const [index, migration] of migrations.entries()) {
      const count = statementsOf(migration.script).length;
      expect(count).toBeGreaterThan(0);
      // A process that is killed while it waits after statement n: the session ends with it, in the open transaction.
      for (let n = 1; n <= count; n += Math.ceil(count / 2)) await killedAfter(url, index, n);
      await migrate({ url, migrations: migrations.slice(0, index + 1), log: silentLog });
    }
    expect(await schemaOf(url)).toBe(expected);
  }, 1_800_000);
});

const CHILD = `
  import { migrate, readMigrations } from './src/db/migrate.ts';
  import { silentLog } from './src/lib/log.ts';
  const [url, index, script] = process.argv.slice(1);
  const migrations = (await readMigrations('prisma/migrations')).slice(0, Number(index) + 1);
  migrations[Number(index)] = { ...migrations[Number(index)], script };
  process.stdout.write('begun');
  await migrate({ url, migrations, log: silentLog });
`;

async function killedAfter(url: string, index: number, statements: number): Promise<void> {
  const script = `${statementsOf(migrations[index]?.script ?? '')
    .slice(0, statements)
    .join(';\n')};\nSELECT pg_sleep(60)`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD, url, String(index), script], {
    stdio: 'ignore',
  });
  const gone = once(child, 'exit');
  const watcher = new pg.Client({ connectionString: url });
  await watcher.connect();
  for (;;) {
    const { rows } = await watcher.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
    );
    if (rows.length > 0) break;
    if (child.exitCode !== null)
      throw new Error(`The migration ended with code ${child.exitCode} before it was killed.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill('SIGKILL');
  await gone;
  // The server notices the lost client at its next word; a test need not wait for that.
  await watcher.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mailwright-migrate'`,
  );
  await watcher.end();
}

describe('the migration that makes subscriptions necessary (D55)', () => {
  it('gives customers that never had one a subscription without limits, and no other customer', async () => {
    const { url } = await createEmptyDatabase();
    const before = migrations.filter(({ name }) => name < '20261123164254');
    await migrate({ url, migrations: before, log: silentLog });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`
      INSERT INTO plan (uid, name, price_minor, currency_code, frequency_amount, frequency_unit) VALUES ('p', 'Paid', 1000, 'EUR', 1, 'month');
      INSERT INTO customer (uid, name, is_operator) VALUES ('operator', 'x', true), ('never', 'x', false), ('waits', 'x', false),
                                                           ('ended', 'x', false), ('unpaid', 'x', false);
      INSERT INTO subscription (customer_id, uid, plan_id, status, current_period_started_at)
      SELECT c.id, c.uid, p.id, CASE c.uid WHEN 'waits' THEN 'pending' ELSE 'ended' END, CASE c.uid WHEN 'ended' THEN now() END
        FROM customer c, plan p WHERE c.uid IN ('waits', 'ended', 'unpaid')`);
    await migrate({ url, migrations, log: silentLog });
    const { rows } = await client.query<{ line: string }>(`
      SELECT concat_ws(' ', c.uid, s.status, p.status, p.options ->> 'list_max', s.next_step_at = s.current_period_ends_at, e.event) AS line
        FROM customer c JOIN subscription s ON s.customer_id = c.id JOIN plan p ON p.id = s.plan_id AND p.uid <> 'p'
        JOIN subscription_event e ON e.customer_id = s.customer_id AND e.subscription_id = s.id ORDER BY 1`);
    await client.end();
    expect(rows.map(({ line }) => line)).toEqual([
      'never active inactive -1 t started',
      'unpaid active inactive -1 t started',
    ]);
  });
});
