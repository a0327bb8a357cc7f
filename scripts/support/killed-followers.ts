/**
 * Events for three followers whose processes are killed again and again (`kill -9`): what each of them got. For the journey and for
 * bench/event-record.ts.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Database } from '../../src/db/database.ts';
import { makeFollowers } from '../../src/events/follower-store.ts';
import { lastEventId, recordEvents } from '../../src/events/event-store.ts';
import { FOLLOWERS } from './follower-process.ts';

const PROGRAM = path.resolve(import.meta.dirname, 'follower-process.ts');
const WRITERS = 4;
const OBJECTS = 50;
/** Every seventh transaction is rolled back: its ids are missing. */
const ROLLED_BACK = 7;

export interface Kept {
  /** Events that a follower never got, of all followers. */
  readonly missed: number;
  /** Events that a follower got before an earlier one of the same object. */
  readonly outOfOrder: number;
  /** Events that came once more, after a death. */
  readonly again: number;
  readonly events: number;
  readonly kills: number;
}

/** Writes so many events while two processes follow, one of which is killed each time; the rest is followed without kills. */
export async function killFollowers(
  database: Database,
  { events, kills }: { readonly events: number; readonly kills: number },
): Promise<Kept> {
  await database.execute(
    sql`CREATE TABLE handled (no bigint GENERATED ALWAYS AS IDENTITY, follower text NOT NULL, event_id bigint NOT NULL)`,
  );
  await makeFollowers(
    database,
    FOLLOWERS.map((name) => ({ name, owner: 'test' })),
  );
  const processes = [await startProcess(database.url), await startProcess(database.url)];
  let written = 0;
  const writing = Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let no = 0; written < events; no++) {
        const amount = await write(database, { writer, no });
        written += amount;
      }
    }),
  );
  try {
    for (let kill = 0; kill < kills; kill++) {
      // In the middle of the work: after a part of all events was handled.
      await untilHandled(database, Math.floor(((kill + 1) * events * FOLLOWERS.length) / (kills + 2)));
      await killed(processes.shift());
      processes.push(await startProcess(database.url));
    }
    await writing;
    await untilAllHandled(database);
  } finally {
    for (const one of processes) await killed(one);
  }
  return { ...(await countFaults(database)), kills };
}

/** One transaction with a few events, of one object or of several. */
async function write(database: Database, { writer, no }: { writer: number; no: number }): Promise<number> {
  const amount = 1 + (no % 9);
  const objects = Array.from(
    { length: amount },
    (_, index) => `object-${(writer * 13 + no + (no % 2) * index) % OBJECTS}`,
  );
  const done = database.transaction(async (tx) => {
    // As a verb does: what changes an object holds its row.
    for (const object of [...new Set(objects)].toSorted())
      await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${object}, 0))`);
    await recordEvents(
      tx,
      objects.map((objectUid) => ({ kind: 'list_changed', customerId: null, objectUid, data: {} })),
    );
    if (no % ROLLED_BACK === 0) throw new Error('rolled back');
  });
  return done.then(
    () => amount,
    () => 0,
  );
}

async function startProcess(url: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [PROGRAM, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  const endWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', endWithUs);
  child.once('exit', () => process.off('exit', endWithUs));
  await once(child.stdout, 'data');
  return child;
}

async function killed(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function untilHandled(database: Database, amount: number): Promise<void> {
  for (;;) {
    const [row] = await database.query({ count: 'int' }, sql`SELECT count(*)::int AS count FROM handled`);
    if ((row?.count ?? 0) >= amount) return;
    await sleep(20);
  }
}

async function untilAllHandled(database: Database): Promise<void> {
  const last = await lastEventId(database);
  for (;;) {
    const behind = await database.execute(
      sql`SELECT 1 FROM hot.event_follower WHERE name = ANY (${[...FOLLOWERS]}::text[]) AND position < ${last}`,
    );
    if (behind === 0) return;
    await sleep(50);
  }
}

async function countFaults(database: Database): Promise<Omit<Kept, 'kills'>> {
  const followers = sql`unnest(${[...FOLLOWERS]}::text[]) AS f (name)`;
  const [row] = await database.query(
    { events: 'int', missed: 'int', outOfOrder: 'int', again: 'int' },
    sql`
    WITH firsts AS (
      SELECT h.follower, h.event_id, e.object_uid, min(h.no) AS no FROM handled h JOIN hot.event e ON e.id = h.event_id GROUP BY 1, 2, 3
    ), ordered AS (
      SELECT no, max(no) OVER (PARTITION BY follower, object_uid ORDER BY event_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM firsts
    )
    SELECT (SELECT count(*)::int FROM hot.event) AS events,
           (SELECT count(*)::int FROM hot.event e, ${followers}
             WHERE NOT EXISTS (SELECT 1 FROM handled h WHERE h.follower = f.name AND h.event_id = e.id)) AS missed,
           (SELECT count(*)::int FROM ordered WHERE no < before) AS "outOfOrder",
           (SELECT count(*) - (SELECT count(*) FROM firsts) FROM handled)::int AS again`,
  );
  if (!row) throw new Error('The database did not count.');
  return row;
}
