/** An import whose process is killed again and again, at any moment: no line is lost, none is written twice. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { findOwnedImport } from '../../../../src/domain/audience/imports/find-owned-import.ts';
import { addSubscriber } from '../../../../src/domain/audience/add-subscriber.ts';
import { sql } from '../../../../src/db/database.ts';
import { rejectionsOf, uploadFile } from '../../../support/import-file.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../../support/import-process.ts');
const LINES = 24_000;
const KILLS = 8;
/** There are about 1,100 all told: after eight times as many it is not done. */
const STATEMENTS_MAX = 100;
/** A thousand lines, and what comes before them, need fewer. */
const STATEMENTS_OF_PROGRESS = 60;

test('killed eight times, it ends with exactly the people of the file', async () => {
  const ctx = await createTenant(await createTestContext());
  const list = await newList(ctx);
  await addSubscriber(ctx, { listUid: list.uid, email: 'known@x.com' });
  const file = ['email,first name'];
  for (let n = 0; n < LINES; n++) file.push(lineOf(n));
  const queued = await uploadFile(ctx, list, file.join('\n'), { tag: 'imported' });

  const run = async (...more: readonly string[]) => {
    const child = spawn(
      process.execPath,
      [PROGRAM, ctx.database.url, String(queued.customerId), String(queued.id), ...more],
      {
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    await once(child, 'exit');
    return child.signalCode ?? child.exitCode;
  };
  const processed: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    // Every second time at any moment, else when there is progress.
    const least = kill % 2 === 0 ? 1 : STATEMENTS_OF_PROGRESS;
    const statements = least + Math.floor(Math.random() * (STATEMENTS_MAX - least));
    expect(await run(String(statements))).toBe('SIGKILL');
    processed.push((await findOwnedImport(ctx, queued.uid)).processed);
  }
  // Most of them were in the middle of it.
  expect(new Set(processed).size).toBeGreaterThanOrEqual(KILLS / 2);
  expect(await run()).toBe(0);

  const done = await findOwnedImport(ctx, queued.uid);
  const wrong = LINES / 1_000;
  const repeats = LINES / 100 - wrong;
  expect(done).toMatchObject({ processed: LINES, rejected: wrong, added: LINES - wrong - repeats - 1, failure: null });
  expect(done.updated + done.unchanged).toBe(repeats + 1);
  expect(done.bytesProcessed).toBe(done.bytesTotal);
  expect(Object.keys(await rejectionsOf(ctx, done))).toHaveLength(wrong);
  const [people] = await queryRows(
    ctx.db,
    sql`
    SELECT count(*)::int AS people, count(DISTINCT email_key)::int AS addresses,
           count(*) FILTER (WHERE fields ->> 'FIRST_NAME' = 'N' || substring(email FROM '^p(\\d+)@'))::int AS right_names,
           count(*) FILTER (WHERE tags = '{imported}')::int AS tagged
      FROM subscriber WHERE list_id = ${list.id}`,
  );
  const expected = LINES - wrong - repeats;
  expect(people).toEqual({ people: expected, addresses: expected, right_names: expected - 1, tagged: expected });
  const [counter] = await queryRows(ctx.db, sql`SELECT subscribed FROM hot.list_counter WHERE list_id = ${list.id}`);
  expect(counter).toEqual({ subscribed: expected });
});

/** Every thousandth is no address, every hundredth is the one before again, one is on the list already. */
function lineOf(n: number): string {
  if (n % 1_000 === 999) return `broken ${n},x`;
  if (n % 100 === 99) return lineOf(n - 1);
  return n === 5 ? 'KNOWN@x.com,Known' : `p${n}@x.com,N${n}`;
}
