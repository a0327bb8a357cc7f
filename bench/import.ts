/**
 * What an import of people costs beside the least a database can do with the same file: 200,000 people in random
 * order with three fields in several scripts, by a bare COPY of the same bytes into a table without an index, and by
 * the import, upload included. Then the same file again, which changes nobody, and a COPY into a staging table with
 * one INSERT .. ON CONFLICT; into an empty list of a customer whose plan limits its people; and once more into an empty list, with a thousand people erased and a thousand suppressed,
 * none of them in the file: everybody has to be looked up in both. Interleaved rounds on one server with its usual durability; medians.
 *
 *   node bench/import.ts [--smoke] [--people 200000] [--rounds 3]      DATABASE_URL: a server of your own
 */
import { parseArgs } from 'node:util';
import { from as copyFrom } from 'pg-copy-streams';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import path from 'node:path';
import { queryRows } from '../scripts/support/query-rows.ts';
import { limitsOf } from '../src/app/installation.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { openDatabase, sql } from '../src/db/database.ts';
import { migrate, readMigrations } from '../src/db/migrate.ts';
import { appendImportChunk } from '../src/domain/audience/imports/append-import-chunk.ts';
import { finishImportUpload } from '../src/domain/audience/imports/finish-import-upload.ts';
import { CHUNK_BYTES_MAX, type ListImport } from '../src/domain/audience/imports/list-import.ts';
import { findOwnedImport } from '../src/domain/audience/imports/find-owned-import.ts';
import { runListImport } from '../src/domain/audience/imports/run-list-import.ts';
import { startListImport } from '../src/domain/audience/imports/start-list-import.ts';
import type { Context } from '../src/domain/context.ts';
import { systemClock } from '../src/lib/clock.ts';
import { newUid } from '../src/lib/ids.ts';
import { givePlan } from './support/give-plan.ts';
import { silentLog } from '../src/lib/log.ts';
import { createHookBus } from '../src/plugin-host/hook-bus.ts';
import { median } from './support/median.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    people: { type: 'string' },
    rounds: { type: 'string' },
    batch: { type: 'string' },
  },
});
const PEOPLE = Number(values.people ?? (values.smoke ? 5_000 : 200_000));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 1 : 3));
/** As the product's own embedded server runs. */
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on', 'shared_buffers=256MB'];
const LINE_BYTES_MAX = 120;
const FIRST_NAMES = ['Anna', 'Борис', 'Çelik', '李雷', 'Yusuf', 'Élodie', 'سارة', 'Marta', 'さくら', 'Γιώργος'];

const server = process.env['DATABASE_URL'] ? undefined : await startScratchPostgres(DURABLE);
const name = `mailwright_bench_${process.pid}`;
const serverUrl = server?.url ?? process.env['DATABASE_URL'] ?? '';
await administer(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`);
try {
  await main(withDatabase(serverUrl, name));
} finally {
  await administer(`DROP DATABASE ${name} WITH (FORCE)`);
  await server?.stop();
}

async function main(url: string): Promise<void> {
  const migrations = await readMigrations(path.resolve(import.meta.dirname, '../prisma/migrations'));
  await migrate({ url, migrations, log: silentLog, afterwards: () => runMigrations({ connectionString: url }) });
  const database = openDatabase({ url, poolSize: 6, log: silentLog });
  const ctx = await contextFor(database);
  const file = makeFile(PEOPLE);
  const memoryBefore = process.memoryUsage.rss();
  console.log(`${PEOPLE} people, ${(file.length / 1e6).toFixed(1)} MB, ${ROUNDS} rounds`);
  const times: Times = { copy: [], upsert: [], first: [], again: [], run: [], planned: [], barred: [] };
  for (let round = 0; round < ROUNDS; round++) {
    const listUid = await makeList(ctx);
    times.copy.push(await timed(() => bareCopy(ctx, file)));
    times.upsert.push(await timed(() => copyAndUpsert(ctx, file)));
    const first = await importFile(ctx, listUid, file);
    times.first.push(first.seconds);
    times.run.push(first.runSeconds);
    expect(first.result, { added: PEOPLE, unchanged: 0 });
    const again = await importFile(ctx, listUid, file);
    times.again.push(again.seconds);
    expect(again.result, { added: 0, unchanged: PEOPLE });
    await givePlan((text, args) => database.pool.query(text, [...args]), { subscriber_max: 1e9, list_max: 1_000 });
    const planned = await importFile(ctx, await makeList(ctx), file);
    times.planned.push(planned.seconds);
    expect(planned.result, { added: PEOPLE, unchanged: 0 });
    await queryRows(database, sql`TRUNCATE plan CASCADE`);
    await queryRows(database, sql`UPDATE customer SET is_operator = true`);
    await barOthers(ctx);
    const barred = await importFile(ctx, await makeList(ctx), file);
    times.barred.push(barred.seconds);
    expect(barred.result, { added: PEOPLE, unchanged: 0 });
    await queryRows(database, sql`TRUNCATE erased_person, suppression`);
  }
  await database.close();
  report(times);
  const peak = process.resourceUsage().maxRSS * 1024;
  console.log(`peak memory of this process: ${megabytes(peak)}, before the first import: ${megabytes(memoryBefore)}`);
}

type Times = Readonly<Record<'copy' | 'upsert' | 'first' | 'again' | 'run' | 'planned' | 'barred', number[]>>;

/** People who must not be imported, and are not in the file. */
async function barOthers({ db, viewer }: Context): Promise<void> {
  await db.execute(sql`
    INSERT INTO erased_person (customer_id, digest) SELECT ${viewer?.customerId}, sha256(n::text::bytea) FROM generate_series(1, 1000) n`);
  await db.execute(sql`
    INSERT INTO suppression (customer_id, email_key, reason) SELECT ${viewer?.customerId}, 'barred' || n || '@elsewhere.example', 'manual'
      FROM generate_series(1, 1000) n`);
}

function report(times: Times): void {
  const copy = median(times.copy);
  for (const [label, seconds] of [
    ['bare COPY', copy],
    ['COPY + one INSERT .. ON CONFLICT', median(times.upsert)],
    ['import into an empty list', median(times.first)],
    ['  of it the run, without upload', median(times.run)],
    ['import of the same file again', median(times.again)],
    ["import under a plan's limits", median(times.planned)],
    ['import with people barred', median(times.barred)],
  ] as const) {
    const rate = Math.round(PEOPLE / seconds).toLocaleString('en');
    console.log(
      `${label.padEnd(36)} ${seconds.toFixed(2).padStart(7)} s  ${(seconds / copy).toFixed(1).padStart(5)} x  ${rate.padStart(10)} a second`,
    );
  }
}

async function importFile(
  ctx: Context,
  listUid: string,
  file: Buffer,
): Promise<{ result: ListImport; seconds: number; runSeconds: number }> {
  const startedAt = performance.now();
  const { uid } = await startListImport(ctx, { listUid, fileName: 'people.csv' });
  for (let no = 0; no * CHUNK_BYTES_MAX < file.length; no++) {
    await appendImportChunk(ctx, { uid, no, bytes: file.subarray(no * CHUNK_BYTES_MAX, (no + 1) * CHUNK_BYTES_MAX) });
  }
  const key = await finishImportUpload(ctx, { uid });
  const runSeconds = await timed(() => runListImport(ctx, key, AbortSignal.any([])));
  return { result: await findOwnedImport(ctx, uid), seconds: (performance.now() - startedAt) / 1000, runSeconds };
}

async function bareCopy({ database }: Context, file: Buffer): Promise<void> {
  await database.pool.query(
    'DROP TABLE IF EXISTS bare; CREATE TABLE bare (email text, first text, last text, city text)',
  );
  await copyInto(database.pool, 'COPY bare FROM STDIN (FORMAT csv, HEADER)', file);
}

async function copyAndUpsert({ database }: Context, file: Buffer): Promise<void> {
  await database.pool.query(`
    DROP TABLE IF EXISTS staged, people;
    CREATE TABLE staged (email text, first text, last text, city text);
    CREATE TABLE people (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text UNIQUE, fields jsonb, created_at timestamptz DEFAULT now())`);
  await copyInto(database.pool, 'COPY staged FROM STDIN (FORMAT csv, HEADER)', file);
  await database.pool.query(`
    INSERT INTO people (email, fields) SELECT email, jsonb_build_object('FIRST_NAME', first, 'LAST_NAME', last, 'CITY', city) FROM staged
    ON CONFLICT (email) DO UPDATE SET fields = people.fields || excluded.fields`);
}

async function copyInto(pool: pg.Pool, statement: string, file: Buffer): Promise<void> {
  const client = await pool.connect();
  try {
    await pipeline(Readable.from(piecesOf(file)), client.query(copyFrom(statement)));
  } finally {
    client.release();
  }
}

function* piecesOf(file: Buffer): Generator<Buffer> {
  for (let at = 0; at < file.length; at += 65_536) yield file.subarray(at, at + 65_536);
}

async function contextFor(database: Context['database']): Promise<Context> {
  const [customer] = await queryRows<{ id: bigint }>(
    database,
    sql`INSERT INTO customer (uid, name, is_operator) VALUES (${newUid()}, 'Bench', true) RETURNING id`,
  );
  const defaults = limitsOf(loadConfig({}));
  const limits = {
    ...defaults,
    importBatchSize: Number(values.batch ?? defaults.importBatchSize),
    importBytesMax: 1e9,
    fileBytesMax: 1,
    billingGraceDays: 7,
    sessionDays: { idle: 30, inAll: 90 },
  };
  return {
    db: database,
    database,
    tx: undefined,
    hooks: createHookBus(silentLog),
    clock: systemClock,
    log: silentLog,
    viewer: {
      userId: 1n,
      userUid: newUid(),
      customerId: customer?.id ?? 0n,
      tokenId: 1n,
      tokenUid: '',
      tokenKind: 'primary',
      isAdmin: false,
      scopes: ['*'],
    },
    ipAddress: null,
    installation: { baseUrl: 'http://bench.invalid', secret: 'bench '.repeat(8), limits },
  };
}

async function makeList({ db, viewer }: Context): Promise<string> {
  const uid = newUid();
  const [list] = await queryRows<{ id: bigint }>(
    db,
    sql`
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
    VALUES (${viewer?.customerId}, ${uid}, 'Bench', 'News', 'news@example.org', 'Bench') RETURNING id`,
  );
  for (const tag of ['FIRST_NAME', 'LAST_NAME', 'CITY']) {
    await db.execute(sql`INSERT INTO list_field (customer_id, uid, list_id, type, label, tag)
                         VALUES (${viewer?.customerId}, ${newUid()}, ${list?.id}, 'text', ${tag.replace('_', ' ')}, ${tag})`);
  }
  return uid;
}

/** Addresses in random order, so that every index is written all over. */
function makeFile(people: number): Buffer {
  const file = Buffer.allocUnsafe(100 + people * LINE_BYTES_MAX);
  let size = file.write('email,first name,last name,city\n');
  for (let n = 0; n < people; n++) {
    const scattered = (n * 7_368_787) % 1_000_000_007;
    const name = `${FIRST_NAMES[n % FIRST_NAMES.length]},Family ${scattered % 9_973}`;
    size += file.write(`p${scattered}.${n}@example${n % 997}.com,${name},"City, ${n % 499}"\n`, size);
  }
  return file.subarray(0, size);
}

function expect(result: ListImport, wanted: { added: number; unchanged: number }): void {
  const isRight =
    result.status === 'done' &&
    result.added === wanted.added &&
    result.unchanged === wanted.unchanged &&
    result.updated === 0;
  if (!isRight)
    throw new Error(
      `The import ended ${result.status}: ${JSON.stringify({ ...result, customerId: '', id: '', listId: '', bytesTotal: '', bytesProcessed: '' })}`,
    );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
