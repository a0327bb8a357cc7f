/** A verification whose process is killed again and again: nobody is left out, and nobody is verified twice whose result is stored. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { startVerification } from '../../../src/domain/verification/start-verification.ts';
import { some, startVerificationWorld } from '../../support/verification-world.ts';

const { root, newOwner, addPeople, stateOf } = await startVerificationWorld();
const PROGRAM = path.resolve(import.meta.dirname, '../../support/verification-process.ts');
const PEOPLE = 2_400;
const KILLS = 8;
/** A step is about ten; the run has 60 of them. */
const STATEMENTS_MAX = 40;
/** Before the first step has ended. */
const STATEMENTS_MIN = 25;
/** Two verifier.calls of twenty. */
const AT_ONCE = 40;

test('killed eight times, everybody is verified, and asked again are only those who were with the verifier', async () => {
  const { ctx, list } = await newOwner();
  await root.db.execute(sql`CREATE TABLE asked (address text)`);
  await addPeople(list, [...some(PEOPLE - 1), 'info@x.example']);
  const started = await startVerification(ctx, { listUid: list.uid });
  const ids = [String(started.customerId), String(started.id)];
  const spawned = async (...more: readonly string[]) => {
    const child = spawn(process.execPath, [PROGRAM, ctx.database.url, ...ids, ...more], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    await once(child, 'exit');
    return child.signalCode ?? child.exitCode;
  };
  const positions = new Set<unknown>();
  for (let kill = 0; kill < KILLS; kill++) {
    expect(await spawned(String(STATEMENTS_MIN + Math.floor(Math.random() * STATEMENTS_MAX)))).toBe('SIGKILL');
    // By one statement: the database may still end the last commit of the dead process.
    const [stored] = await queryRows<{ processed: number; n: number }>(
      root.db,
      sql`SELECT processed,
                 (SELECT count(*)::int FROM subscriber WHERE list_id = ${list.id} AND verification IS NOT NULL) AS n
            FROM verification WHERE uid = ${started.uid}`,
    );
    positions.add(stored?.processed);
    expect(stored?.n).toBe(stored?.processed);
  }
  expect(positions.size).toBeGreaterThan(KILLS / 2);
  expect(await spawned()).toBe(0);
  expect(await stateOf(started)).toMatchObject({
    status: 'done',
    processed: PEOPLE,
    deliverable: PEOPLE - 1,
    risky: 1,
  });
  const [asked] = await queryRows<{ all: number; people: number; most: number }>(
    root.db,
    sql`SELECT sum(n)::int AS all, count(*)::int AS people, max(n)::int AS most FROM (SELECT count(*) AS n FROM asked GROUP BY address) a`,
  );
  expect(asked?.people).toBe(PEOPLE);
  expect((asked?.all ?? 0) - PEOPLE).toBeLessThanOrEqual(KILLS * AT_ONCE);
});
