/**
 * Waits of many people that end at once (bar 2 of the automations): how long one process takes to move all of them on, its memory, and how
 * late the steps of another customer's flow are meanwhile. Then what people who only wait cost in a minute, the process and PostgreSQL together.
 *
 *   node bench/flows.ts [--smoke] [--due 200000] [--waiting 1000000] [--idle 60]
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startScratchPostgres } from '../scripts/scratch-postgres.ts';
import { migrate, readMigrations } from '../src/db/migrate.ts';
import { newUid } from '../src/lib/ids.ts';
import { silentLog } from '../src/lib/log.ts';
import { cpuSecondsOfTree } from './support/process-tree.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    due: { type: 'string' },
    waiting: { type: 'string' },
    idle: { type: 'string' },
  },
});
const DUE = Number(values.due ?? (values.smoke ? 3_000 : 200_000));
const WAITING = Number(values.waiting ?? (values.smoke ? 5_000 : 1_000_000));
const IDLE_SECONDS = Number(values.idle ?? (values.smoke ? 2 : 60));
/** People of the other flow: one wait ends each tenth of a second. */
const BESIDE = values.smoke ? 20 : 600;
const PROMISED = { seconds: 60, megabytes: 300, lateSeconds: 5, idleSeconds: 0.5 };
const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on', 'autovacuum=on', 'shared_buffers=256MB'];

/** Wait, tag, wait for a day in the person's zone. */
const FLOW = {
  ...{
    triggers: [{ type: 'execute' }],
    entry: { mode: 'once' },
    goals: [],
    exits: [],
    holidays: [],
    passesMax: 10,
    layout: {},
  },
  nodes: [
    { id: 'rest', type: 'wait', for: { hours: 1 } },
    { id: 'mark', type: 'add_tag', tag: 'marked' },
    { id: 'later', type: 'wait', for: { days: 1 }, at: '09:00' },
  ],
  edges: [
    { from: 'start', port: 'next', to: 'rest' },
    { from: 'rest', port: 'next', to: 'mark' },
    { from: 'mark', port: 'next', to: 'later' },
  ],
};

const server = await startScratchPostgres(DURABLE);
const client = new pg.Client(server.url);
try {
  await migrate({
    url: server.url,
    migrations: await readMigrations(path.resolve(import.meta.dirname, '../prisma/migrations')),
    log: silentLog,
  });
  await client.connect();
  await measure();
} finally {
  await client.end();
  await server.stop();
}

async function measure(): Promise<void> {
  const [large, beside] = [await flowWith(DUE), await flowWith(BESIDE)];
  await wakeAt(large, `now() + interval '2 seconds'`);
  await wakeAt(beside, `now() + interval '2 seconds' + interval '100 milliseconds' * row_number`);
  const program = path.resolve(import.meta.dirname, '../test/support/flow-process.ts');
  const child = spawn(process.execPath, ['--max-semi-space-size=8', program, server.url, 'clock'], {
    stdio: 'inherit',
  });
  try {
    await sleep(2_000);
    await movesAll(large, beside, child.pid ?? 0);
    await waits(child.pid ?? 0);
  } finally {
    child.kill('SIGKILL');
  }
}

async function movesAll(large: string, beside: string, pid: number): Promise<void> {
  const startedAt = performance.now();
  let lateMax = 0;
  for (let left = DUE; left > 0; await sleep(100)) {
    const late = await number(
      `SELECT coalesce(extract(epoch FROM max(clock_timestamp() - wake_at)), 0) FROM hot.flow_run WHERE automation_id = ${beside} AND node <> 'later' AND wake_at < clock_timestamp()`,
    );
    lateMax = Math.max(lateMax, late);
    left = await number(`SELECT sum(waiting) FROM hot.flow_node WHERE automation_id = ${large} AND node <> 'later'`);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const megabytes = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
  console.log(
    `${DUE} due at once, two steps each: ${seconds.toFixed(1)} s (promised: ${PROMISED.seconds}), ${megabytes.toFixed(0)} MB at most (${PROMISED.megabytes}), ` +
      `another flow late by ${lateMax.toFixed(1)} s at most (${PROMISED.lateSeconds})`,
  );
  if (seconds > PROMISED.seconds || megabytes > PROMISED.megabytes || lateMax > PROMISED.lateSeconds)
    process.exitCode = 1;
}

async function waits(pid: number): Promise<void> {
  await wakeAt(await flowWith(WAITING), `now() + interval '1 day'`);
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  // What the vacuum has started in the background ends.
  await sleep(IDLE_SECONDS * 250);
  const folder = (await client.query<{ data_directory: string }>('SHOW data_directory')).rows[0]?.data_directory;
  const postmaster = Number.parseInt(readFileSync(`${folder}/postmaster.pid`, 'utf8'), 10);
  const before = cpuSecondsOfTree(pid) + cpuSecondsOfTree(postmaster);
  await sleep(IDLE_SECONDS * 1_000);
  const used = cpuSecondsOfTree(pid) + cpuSecondsOfTree(postmaster) - before;
  console.log(
    `${WAITING} wait: ${used.toFixed(2)} s of processor time in ${IDLE_SECONDS} s (promised: ${PROMISED.idleSeconds} s in a minute)`,
  );
  if (!values.smoke && used > PROMISED.idleSeconds) process.exitCode = 1;
}

/** A flow of a customer of its own, with people at its first node; answers the automation's id. */
async function flowWith(people: number): Promise<string> {
  const { rows } = await client.query<{ customer: string; list: string; id: string }>(
    `WITH u AS (INSERT INTO customer (uid, name) VALUES ($1, 'Bench') RETURNING id),
          l AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
                SELECT id, $2, 'Bench', 'News', 'news@shop.example', 'Shop' FROM u RETURNING customer_id, id),
          a AS (INSERT INTO automation (customer_id, list_id, uid, name, draft, status, live_version)
                SELECT customer_id, id, $3, 'Bench', $4::jsonb, 'active', 1 FROM l RETURNING customer_id, list_id, id),
          v AS (INSERT INTO automation_version (customer_id, automation_id, number, flow) SELECT customer_id, id, 1, $4::jsonb FROM a)
     SELECT customer_id AS customer, list_id AS list, id FROM a`,
    [newUid(), newUid(), newUid(), JSON.stringify(FLOW)],
  );
  const { customer = '', list = '', id = '' } = rows[0] ?? {};
  await client.query(
    `INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields, tags)
     SELECT $1, $2, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed', '{}', '{}' FROM generate_series(1, $3::int) n`,
    [customer, list, people],
  );
  await client.query(
    `WITH entered AS (
       INSERT INTO hot.flow_entry (customer_id, automation_id, person_id, run_id, entered_at)
       SELECT customer_id, $2, id, nextval('hot.flow_run_id_seq'), now() FROM subscriber WHERE customer_id = $1 RETURNING *)
     INSERT INTO hot.flow_run (customer_id, automation_id, id, person_id, entered_at, since, version, state, node)
     SELECT customer_id, automation_id, run_id, person_id, now(), now(), 1, 'waiting', 'rest' FROM entered`,
    [customer, id],
  );
  // Without counts of its rows the next statement would join each row with all others.
  await client.query('ANALYZE hot.flow_run');
  return id;
}

async function wakeAt(automation: string, time: string): Promise<void> {
  await client.query(
    `UPDATE hot.flow_run r SET wake_at = ${time} FROM (SELECT id, row_number() OVER (ORDER BY id) FROM hot.flow_run WHERE automation_id = $1) o
      WHERE r.automation_id = $1 AND r.id = o.id`,
    [automation],
  );
  await client.query('VACUUM ANALYZE hot.flow_run, hot.flow_entry, subscriber');
  await client.query(
    `INSERT INTO hot.flow_node (customer_id, automation_id, version, node, entered, waiting, next_wake_at)
     SELECT customer_id, automation_id, 1, 'rest', count(*), count(*), min(wake_at) FROM hot.flow_run WHERE automation_id = $1 GROUP BY 1, 2`,
    [automation],
  );
}

async function number(statement: string): Promise<number> {
  const { rows } = await client.query<{ value: string }>(`SELECT (${statement}) AS value`);
  return Number(rows[0]?.value ?? 0);
}
