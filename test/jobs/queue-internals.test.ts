/**
 * The product reads private tables of graphile-worker in one module, src/jobs/queue-internals-store.ts. Another version of the library may
 * change them without notice.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { availableJobs, QUEUE_VERSION } from '../../src/jobs/queue-internals-store.ts';
import { createTestContext } from '../support/test-context.ts';

const root = path.resolve(import.meta.dirname, '../..');
const ctx = await createTestContext();

const WHAT_TO_CHECK = `
graphile-worker has another version than the one that src/jobs/queue-internals-store.ts was written for. Read its release notes and the new
files in node_modules/graphile-worker/sql, and check:
1. the tables and columns that the module names (the next test);
2. that a job is available when nobody has locked it and it has tries left (the column is_available);
3. that a running job is one with locked_at and locked_by, and locked_by is the id of the worker pool;
4. that complete_jobs and reschedule_jobs leave locked jobs alone, and the public view jobs still has the columns of the next test;
5. npx vitest run test/workers test/jobs test/domain/installation.
Then write the new version into QUEUE_VERSION.`;

test('the library has the version whose tables we know', () => {
  const text = readFileSync(path.join(root, 'node_modules/graphile-worker/package.json'), 'utf8');
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(text));
  expect(version, WHAT_TO_CHECK).toBe(QUEUE_VERSION);
});

test('its tables and its view have the columns that we read and write', async () => {
  expect(await columnsOf('_private_jobs')).toMatchObject({
    ...{
      id: 'bigint',
      task_id: 'integer',
      payload: 'json',
      key: 'text',
      priority: 'smallint',
      is_available: 'boolean',
    },
    ...{ attempts: 'smallint', max_attempts: 'smallint', locked_at: 'timestamp with time zone', locked_by: 'text' },
    ...{ run_at: 'timestamp with time zone', created_at: 'timestamp with time zone' },
    ...{ updated_at: 'timestamp with time zone' },
  });
  expect(await columnsOf('_private_tasks')).toMatchObject({ id: 'integer', identifier: 'text' });
  expect(await columnsOf('jobs')).toMatchObject({
    ...{ id: 'bigint', task_identifier: 'text', flags: 'jsonb', attempts: 'smallint', max_attempts: 'smallint' },
    ...{ run_at: 'timestamp with time zone', locked_at: 'timestamp with time zone', locked_by: 'text' },
  });
});

test('no SQL function reads them', async () => {
  const rows = await queryRows<{ name: string }>(
    ctx.db,
    sql`SELECT n.nspname || '.' || p.proname AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname IN ('hot', 'public') AND p.prosrc LIKE '%\\_private\\_%' ORDER BY 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual([]);
});

async function columnsOf(table: string): Promise<Record<string, string>> {
  const rows = await queryRows<{ name: string; type: string }>(
    ctx.db,
    sql`SELECT column_name AS name, data_type AS type FROM information_schema.columns
         WHERE table_schema = 'graphile_worker' AND table_name = ${table}`,
  );
  return Object.fromEntries(rows.map(({ name, type }) => [name, type]));
}

test('available jobs are found by the index of the library', async () => {
  const plan = await ctx.database.transaction(async (tx) => {
    await queryRows(tx, sql`SELECT set_config('enable_seqscan', 'off', true)`);
    return queryRows<{ 'QUERY PLAN': string }>(
      tx,
      sql`EXPLAIN SELECT 1 FROM ${availableJobs} j WHERE j.run_at <= now() LIMIT 1`,
    );
  });
  expect(JSON.stringify(plan)).toContain('jobs_main_index');
});
