/**
 * Neither the embedded database's log nor the program's own holds an address, whatever fails; the database's log is its
 * owner's only and has a limit. Earlier versions' logs, which do hold addresses, are gone after a start.
 */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, sql, type Database, type Sql } from '../../src/db/database.ts';
import { LOG_BYTES_MAX } from '../../src/db/embedded-log.ts';
import { startEmbeddedDatabase, type EmbeddedDatabase } from '../../src/db/embedded.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { createLog } from '../../src/lib/log.ts';

const base = mkdtempSync(path.join(tmpdir(), 'mailwright-server-log-'));
const folder = path.join(base, 'postgres');
const serverLog = path.join(folder, 'server.log');
const NAME = 'Vivienne';
const PEOPLE = new RegExp(String.raw`[\w.]+@[\w.]+|${NAME}`, 'g');
const peopleIn = (text: string): number => text.match(PEOPLE)?.length ?? 0;

let server: EmbeddedDatabase;
let database: Database;
const ownLines: string[] = [];
const log = createLog({ level: 'debug', format: 'json', write: (line) => ownLines.push(line) });

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'postgres.log'), 'DETAIL:  Key (email)=(old@example.test) already exists.');
  server = await startEmbeddedDatabase({ folder });
  database = openDatabase({ url: server.url, poolSize: 8, log });
  await database.execute(
    sql`CREATE TABLE person (id int PRIMARY KEY, email text UNIQUE, name text CHECK (length(name) < 20))`,
  );
  await database.execute(
    sql`INSERT INTO person VALUES (-1, 'first@example.test', 'a'), (-2, 'second@example.test', 'b')`,
  );
});

afterAll(async () => {
  await database.close();
  await server.stop();
  rmSync(base, { recursive: true, force: true });
});

const email = (n: number): string => `victim${n}@example.test`;

/** Every way in which a value can get into what PostgreSQL says. */
const FAULTS: Readonly<Record<string, (n: number) => Promise<unknown>>> = {
  duplicate: () => execute(sql`INSERT INTO person VALUES (1, 'first@example.test', 'a')`),
  check: (n) => execute(sql`INSERT INTO person VALUES (${n}, ${email(n)}, ${NAME.repeat(9)})`),
  cast: (n) => execute(sql`SELECT ${email(n)}::text::int`),
  date: (n) => execute(sql`SELECT ${`${NAME} ${email(n)}`}::text::timestamptz`),
  json: (n) => execute(sql`SELECT ${`{"name": "${NAME}", "email": "${email(n)}`}::text::jsonb`),
  array: (n) => execute(sql`SELECT ${`{"${NAME}" "${email(n)}"}`}::text::text[]`),
  parameter: (n) => execute(sql`SELECT id FROM person WHERE id = ${email(n)}`),
  bytes: (n) => execute(sql`SELECT convert_from(${Buffer.concat([Buffer.from(email(n)), Buffer.of(0xff)])}, 'UTF8')`),
  raised: (n) =>
    execute(
      sql`SELECT length(pg_catalog.set_config('mailwright.email', ${email(n)}, true)), 1 / (${n}::int - ${n}::int)`,
    ),
  copy: (n) => copy(`${n}\t${email(n)}\t${NAME}\n${email(n)}\t\\N\t\\N\n`),
  'copy, too many columns': (n) => copy(`${n}\t${email(n)}\t${NAME}\t${email(n)}\n`),
  'copy, duplicate': () => copy(`7\tfirst@example.test\t${NAME}\n`),
  'copy, check': (n) => copy(`${n}\t${email(n)}\t${NAME.repeat(9)}\n`),
};

/** In a transaction: the pool closes a connection whose statement failed outside of one. */
function execute(statement: Sql): Promise<unknown> {
  return database.transaction((tx) => tx.execute(statement));
}

function copy(text: string): Promise<void> {
  return database.transaction((tx) => tx.copy('COPY person FROM STDIN', [text]));
}

let faultCount = 0;

async function failed(act: Promise<unknown>): Promise<boolean> {
  try {
    await act;
    return false;
  } catch (error) {
    // As the program logs: the whole error, its text, and as the cause of another one. Each is a fault of its own, or they
    // would be one line a second.
    const no = String((faultCount += 1));
    log.error('test.failed', { no, error });
    log.warn('test.failed', { no, message: messageOf(error) });
    log.warn('test.failed', {
      no,
      error: new Error('outer', { cause: error }),
      nested: { error },
    });
    return true;
  }
}

/** Two transactions that take the same two rows in opposite order, with addresses as parameters. */
async function deadlock(n: number): Promise<unknown[]> {
  const bothHoldOne = Promise.withResolvers<void>();
  let holding = 0;
  const take = (first: number, second: number) =>
    database.transaction(async (tx) => {
      const touch = (id: number) =>
        tx.execute(sql`UPDATE person SET name = ${`n${n}`} WHERE id = ${id} AND email <> ${email(n)}`);
      await touch(first);
      if (++holding === 2) bothHoldOne.resolve();
      await bothHoldOne.promise;
      await touch(second);
    });
  return Promise.all([failed(take(-1, -2)), failed(take(-2, -1))]);
}

const written = (): string => readFileSync(serverLog, 'utf8');

describe('10,000 errors of every kind', () => {
  it('leave no address and no name in either log', async () => {
    const kinds = Object.values(FAULTS);
    const rounds = Math.ceil(10_000 / kinds.length);
    for (let round = 0; round < rounds; round++) {
      const outcomes = await Promise.all(kinds.map((fail) => failed(fail(round))));
      expect(outcomes).not.toContain(false);
    }
    await deadlock(1);
    expect(ownLines.at(-1)).toContain('40P01');
    expect(ownLines.length).toBeGreaterThan(30_000);
    expect(peopleIn(ownLines.join('\n'))).toBe(0);
    // What the program's readers need is still there.
    expect(ownLines.join('\n')).toContain('"code":"23505"');
    expect(ownLines.join('\n')).toContain('person_email_key');
    expect(peopleIn(written())).toBe(0);
    expect(written()).not.toContain('INSERT');
    expect(written()).toContain('ready to accept connections');
  }, 900_000);

  it('nor does a server process that crashes while it works on a statement', async () => {
    const client = new pg.Client(server.url);
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const dies = client.query(`SELECT pg_sleep(60), '${NAME} ${email(1)}'`).catch(() => undefined);
    await sleep(200);
    process.kill(rows[0]?.pid ?? 0, 'SIGSEGV');
    await dies;
    while (!written().includes('was terminated by signal 11')) await sleep(50);
    expect(peopleIn(written())).toBe(0);
  }, 300_000);
});

it('is readable by its owner only, in folders that nobody else may list', () => {
  expect(statSync(serverLog).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o066).toBe(0);
  expect(statSync(path.join(folder, 'data')).mode & 0o777).toBe(0o700);
});

it('is moved away when it is too large, and never more than two files', async () => {
  appendFileSync(serverLog, 'x'.repeat(LOG_BYTES_MAX + 1));
  while (statSync(serverLog).size > LOG_BYTES_MAX) await sleep(100);
  expect(statSync(`${serverLog}.1`).mode & 0o777).toBe(0o600);
  appendFileSync(serverLog, 'y'.repeat(LOG_BYTES_MAX + 1));
  while (statSync(serverLog).size > LOG_BYTES_MAX) await sleep(100);
  expect(readFileSync(`${serverLog}.1`, 'utf8').includes('yyy')).toBe(true);
}, 300_000);

it('the log of an earlier version is gone after a start', () => {
  expect(existsSync(path.join(folder, 'postgres.log'))).toBe(false);
});
