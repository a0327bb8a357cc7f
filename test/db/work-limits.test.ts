/** Limits of time by kind of work: the server ends what takes too long, and nothing of it stays. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { JOB_LIMITS, REQUEST_LIMITS } from '../../src/db/work-limits.ts';
import { isTimeOut, isUnavailable } from '../../src/lib/is-unavailable.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { startFreezingProxy } from '../support/freezing-proxy.ts';
import { openRestApp } from '../support/open-rest-app.ts';
import { createEmptyDatabase, createTestDatabase } from '../support/test-database.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 3, log: silentLog });
afterFile(() => database.close());
await database.execute(sql`CREATE TABLE shelf (id int PRIMARY KEY, n int NOT NULL)`);
await database.execute(sql`INSERT INTO shelf VALUES (1, 0), (2, 0)`);

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const SETTINGS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'TimeZone'];
const settingsOf = async (db: typeof database): Promise<string[]> => {
  const names = sql`SELECT current_setting(name) AS value FROM unnest(${SETTINGS}::text[]) WITH ORDINALITY AS s (name, no) ORDER BY no`;
  return (await queryRows<{ value: string }>(db, names)).map(({ value }) => value);
};

it('ends a statement, a wait for a lock and an idle transaction, and undoes them', async () => {
  const limits = { statementMsMax: 1_500, lockMsMax: 300, idleMsMax: 60_000 };
  const limited = database.besides({ poolSize: 2, applicationName: 'mailwright-test', limits });
  const hurried = database.besides({
    poolSize: 1,
    applicationName: 'mailwright-test',
    limits: { ...limits, idleMsMax: 300 },
  });
  const slow = await failureOf(queryRows(limited, sql`SELECT pg_sleep(60)`));
  const waiting = await database.transaction(async (tx) => {
    await tx.execute(sql`UPDATE shelf SET n = n + 1 WHERE id = 1`);
    return failureOf(
      limited.transaction(async (other) => {
        await other.execute(sql`UPDATE shelf SET n = 100 WHERE id = 2`);
        await other.execute(sql`UPDATE shelf SET n = 100 WHERE id = 1`);
      }),
    );
  });
  const idle = await failureOf(
    hurried.transaction(async (tx) => {
      await tx.execute(sql`UPDATE shelf SET n = 100 WHERE id = 2`);
      await sleep(900);
      await tx.execute(sql`UPDATE shelf SET n = 100 WHERE id = 1`);
    }),
  );
  expect([slow, waiting].map(isTimeOut)).toEqual([true, true]);
  expect([slow, waiting, idle].map(isUnavailable)).toEqual([true, true, true]);
  expect(await queryRows(limited, sql`SELECT id, n FROM shelf ORDER BY id`)).toEqual([
    { id: 1, n: 1 },
    { id: 2, n: 0 },
  ]);
});

it('has none where none are named, whatever the operator set for the user, and begins each session so', async () => {
  const own = new URL(url);
  own.searchParams.set('options', '-c statement_timeout=1234 -c TimeZone=Asia/Tokyo');
  const unlimited = openDatabase({ url: own.href, poolSize: 2, log: silentLog });
  afterFile(() => unlimited.close());
  expect(await settingsOf(unlimited)).toEqual(['0', '0', '0', 'UTC']);
  const client = await unlimited.connect('mailwright-test');
  const { rows } = await client.query(`SELECT current_setting('statement_timeout') AS value`);
  await client.end();
  expect(rows).toEqual([{ value: '0' }]);
});

it('are those of jobs for what the program does by itself, and shorter ones for requests', async () => {
  const { url: own } = await createTestDatabase();
  const app = await openRestApp(own);
  afterFile(() => app.stop());
  expect(await settingsOf(app.ctx.database)).toEqual(['15min', '1min', '5min', 'UTC']);
  expect(JOB_LIMITS.statementMsMax).toBe(900_000);
  expect(REQUEST_LIMITS.statementMsMax).toBeLessThan(60_000);
});

it('a migration whose server hangs ends with a sentence, and nothing of it stays', async () => {
  const empty = await createEmptyDatabase();
  const through = new URL(empty.url);
  const proxy = await startFreezingProxy(Number(through.port));
  through.port = String(proxy.port);
  const script = 'CREATE TABLE begun (id int); SELECT pg_sleep(5); SELECT pg_sleep(5)';
  const failing = failureOf(migrate({ url: through.href, migrations: [{ name: '1_slow', script }], log: silentLog }));
  const direct = openDatabase({ url: empty.url, poolSize: 1, log: silentLog });
  afterFile(() => direct.close());
  const isUnderWay = async (): Promise<boolean> =>
    (
      await queryRows(
        direct,
        sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mailwright-migrate' AND wait_event = 'PgSleep'`,
      )
    ).length > 0;
  await expect.poll(isUnderWay).toBe(true);
  proxy.freeze('all');
  const error = await failing;
  expect(error).toMatchObject({ message: expect.stringMatching(/^Migration 1_slow failed .* answers no connection/) });
  expect(isUnavailable(error)).toBe(true);
  await queryRows(
    direct,
    sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mailwright-migrate'`,
  );
  expect(await queryRows(direct, sql`SELECT to_regclass('begun')::text AS name`)).toEqual([{ name: null }]);
});
