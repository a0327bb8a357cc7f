/** What the host does for a verifier of a vendor: calls a minute over all runs, and credentials that the vendor repeats. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { startVerification } from '../../../src/domain/verification/start-verification.ts';
import { VerifierError } from '../../../src/plugin-api/index.ts';
import { newList } from '../../support/tenant.ts';
import { some, startVerificationWorld, usualAnswers } from '../../support/verification-world.ts';

const world = await startVerificationWorld({ callsPerMinuteMax: 2 });
const { root, verifier, newOwner, addPeople, run, stateOf, jobsOf } = world;

beforeEach(() => {
  verifier.calls.length = 0;
  verifier.answer = usualAnswers;
});

test('it gets so many calls a minute of one server, of whichever list, and the run waits without a worker', async () => {
  const { ctx, list, server } = await newOwner();
  await addPeople(list, some(24));
  const started = await startVerification(ctx, { listUid: list.uid });
  await run(ctx, started);
  // Three calls at once are allowed, two in a minute.
  expect(verifier.calls.map(({ length }) => length)).toEqual([10, 10]);
  expect(await stateOf(started)).toMatchObject({ status: 'running', processed: 20 });
  const [job] = await jobsOf(started);
  expect(job?.wait).toBeGreaterThan(30);
  const other = await newList(ctx);
  await addPeople(other, some(3, 'o'));
  const second = await startVerification(ctx, { listUid: other.uid });
  await run(ctx, second);
  expect(verifier.calls).toHaveLength(2);
  // A minute later.
  await root.db.execute(sql`DELETE FROM hot.rate_window WHERE key LIKE ${`verification-calls:%${server.uid}`}`);
  await run(ctx, started);
  await run(ctx, second);
  expect(await stateOf(started)).toMatchObject({ status: 'done', processed: 24 });
  expect(await stateOf(second)).toMatchObject({ status: 'done', processed: 3 });
});

test('addresses that were refused by the limit of calls are not counted as used', async () => {
  const { ctx, list, server } = await newOwner(25);
  await addPeople(list, some(25));
  const started = await startVerification(ctx, { listUid: list.uid });
  await run(ctx, started);
  expect(await stateOf(started)).toMatchObject({ processed: 20 });
  await root.db.execute(sql`DELETE FROM hot.rate_window WHERE key LIKE ${`verification-calls:%${server.uid}`}`);
  await run(ctx, started);
  expect(await stateOf(started)).toMatchObject({ status: 'done', processed: 25 });
});

test('a key that the vendor repeats is not shown to whoever verifies', async () => {
  const { ctx, list } = await newOwner(null, { api_key: 'sk-live-4711' });
  await addPeople(list, some(2));
  verifier.answer = () => {
    throw new VerifierError('The key sk-live-4711 has expired.', { retryAfterSeconds: 900 });
  };
  const started = await startVerification(ctx, { listUid: list.uid });
  await run(ctx, started);
  expect(await stateOf(started)).toMatchObject({ status: 'paused', reason: 'The key *** has expired.' });
  const [job] = await jobsOf(started);
  expect(job?.wait).toBeGreaterThan(800);
});
