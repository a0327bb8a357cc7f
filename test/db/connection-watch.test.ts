/** Which connections are thrown away: those that hang, and none that works, waits for a lock, or waits for us. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql, type Database } from '../../src/db/database.ts';
import { LibraryPool } from '../../src/db/library-pool.ts';
import { isUnavailable } from '../../src/lib/is-unavailable.ts';
import { createLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { startFreezingProxy } from '../support/freezing-proxy.ts';
import { createTestDatabase } from '../support/test-database.ts';

const { url } = await createTestDatabase();
const lines: string[] = [];
const log = createLog({ level: 'info', format: 'json', write: (line) => lines.push(line) });

function open(through: string): Database {
  const database = openDatabase({ url: through, poolSize: 6, log });
  afterFile(() => database.close());
  return database;
}

const direct = open(url);
await direct.execute(sql`CREATE TABLE shelf (id int PRIMARY KEY, n int NOT NULL)`);
await direct.execute(sql`INSERT INTO shelf VALUES (1, 0), (2, 0)`);
/** Longer than it takes to give up one that hangs. */
const LONG_MS = 9_000;

async function* slowPieces(): AsyncGenerator<string> {
  yield '10\t0\n';
  await sleep(LONG_MS);
  yield '11\t0\n';
}

it('leaves alone what takes long: a statement, a wait for a lock, a COPY whose rows are still made, a transaction in thought', async () => {
  const isHeld = Promise.withResolvers<void>();
  await Promise.all([
    queryRows(direct, sql`SELECT pg_sleep(${LONG_MS / 1_000})`),
    direct.transaction((tx) => tx.copy('COPY shelf FROM STDIN', slowPieces())),
    direct.transaction(async (tx) => {
      await tx.execute(sql`UPDATE shelf SET n = n + 1 WHERE id = 1`);
      isHeld.resolve();
      await sleep(LONG_MS);
      await tx.execute(sql`UPDATE shelf SET n = n + 1 WHERE id = 1`);
    }),
    isHeld.promise.then(() => direct.execute(sql`UPDATE shelf SET n = n + 1 WHERE id = 1`)),
  ]);
  expect(await queryRows(direct, sql`SELECT id, n FROM shelf ORDER BY id`)).toEqual([
    { id: 1, n: 3 },
    { id: 2, n: 0 },
    { id: 10, n: 0 },
    { id: 11, n: 0 },
  ]);
  expect(lines.filter((line) => line.includes('no_answer'))).toEqual([]);
});

it('gives up those that are frozen, and frees what they held', async () => {
  const through = new URL(url);
  const proxy = await startFreezingProxy(Number(through.port));
  through.port = String(proxy.port);
  const database = open(through.href);
  const holdsLock = Promise.withResolvers<void>();
  const isFrozen = Promise.withResolvers<void>();
  const inTransaction = database.transaction(async (tx) => {
    await tx.execute(sql`UPDATE shelf SET n = n + 1 WHERE id = 2`);
    holdsLock.resolve();
    await isFrozen.promise;
    await tx.execute(sql`UPDATE shelf SET n = n + 1 WHERE id = 2`);
  });
  const copying = database.transaction(async (tx) => {
    await isFrozen.promise;
    await tx.copy('COPY shelf FROM STDIN', ['20\t0\n']);
  });
  await holdsLock.promise;
  proxy.freeze('old');
  isFrozen.resolve();
  const outcomes = await Promise.all([inTransaction, copying].map((act) => act.catch((error: unknown) => error)));
  expect(outcomes.map(isUnavailable)).toEqual([true, true]);
  await direct.execute(sql`UPDATE shelf SET n = 100 WHERE id = 2`);
  expect(await queryRows(database, sql`SELECT n FROM shelf WHERE id IN (2, 20)`)).toEqual([{ n: 100 }]);
});

it('says that nobody is answered, and no more when somebody is', async () => {
  const through = new URL(url);
  const proxy = await startFreezingProxy(Number(through.port));
  through.port = String(proxy.port);
  const database = open(through.href);
  await queryRows(database, sql`SELECT 1`);
  expect(database.silentMs()).toBeUndefined();
  proxy.freeze('all');
  const failing = queryRows(database, sql`SELECT 1`);
  await expect(failing).rejects.toThrow('Connection terminated');
  expect(database.silentMs()).toBeGreaterThan(0);
  proxy.thaw();
  await expect.poll(() => database.silentMs()).toBeUndefined();
  expect(await queryRows(database, sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
});

it('outlives a library that gives a connection back twice', async () => {
  const pool = direct.openPool({ size: 1, applicationName: 'mailwright-test' });
  await new Promise<void>((resolve, reject) => {
    pool.connect((error, _client, release) => {
      if (error) return reject(error);
      release();
      release();
      resolve();
    });
  });
  await pool.end();
});

it('tells a library that waits for a connection in vain so, and goes on', async () => {
  // The first connection has to be made within that time, too.
  const pool = new LibraryPool({ connectionString: url, max: 1, connectionTimeoutMillis: 10_000 });
  const held = await pool.connect();
  const error = await new Promise((resolve) => pool.connect((late) => resolve(late)));
  expect(error).toBeInstanceOf(Error);
  held.release();
  await pool.end();
});
