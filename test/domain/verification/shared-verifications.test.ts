/** One address on several lists of a customer: it is verified once, also by runs at the same time, and never shared between customers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { erasePerson } from '../../../src/domain/audience/erasing/erase-person.ts';
import type { Context } from '../../../src/domain/context.ts';
import { startVerification } from '../../../src/domain/verification/start-verification.ts';
import type { Verification } from '../../../src/domain/verification/verification.ts';
import { sweepVerificationsJob } from '../../../src/jobs/verification-jobs.ts';
import { crontab } from '../../../src/workers/crontab.ts';
import { verificationTasks } from '../../../src/workers/tasks/verifications.ts';
import { worldsVerifier } from '../../support/insert-verification.ts';
import { newList } from '../../support/tenant.ts';
import { some, startVerificationWorld, usualAnswers } from '../../support/verification-world.ts';

const { root, verifier, newOwner, addPeople, run, stateOf, resultsOf, jobsOf } = await startVerificationWorld();

beforeEach(() => {
  verifier.calls.length = 0;
  verifier.answer = usualAnswers;
});

/** A customer whose first list is verified. */
async function newVerified(emails: readonly string[]) {
  const owner = await newOwner();
  await addPeople(owner.list, emails);
  await run(owner.ctx, await startVerification(owner.ctx, { listUid: owner.list.uid }));
  const second = await newList(owner.ctx);
  verifier.calls.length = 0;
  return { ...owner, second };
}

async function runToEnd(ctx: Context, started: Verification): Promise<void> {
  for (let no = 0; no < 200 && (await stateOf(started))['status'] !== 'done'; no++) {
    await run(ctx, started);
    await sleep(5);
  }
  expect(await stateOf(started)).toMatchObject({ status: 'done' });
}

test('a result of another list is taken over with its time; only new addresses are asked about', async () => {
  const { ctx, list, second } = await newVerified(['ada@x.example', 'gone@x.example', 'info@x.example']);
  await root.db.execute(sql`UPDATE subscriber SET verified_at = now() - interval '10 days' WHERE list_id = ${list.id}`);
  await addPeople(second, ['info@x.example', 'new@x.example', 'gone@x.example']);
  const started = await startVerification(ctx, { listUid: second.uid });
  await run(ctx, started);
  expect(verifier.calls).toEqual([['new@x.example']]);
  expect(await stateOf(started)).toMatchObject({
    ...{ status: 'done', total: 3, processed: 3, reused: 2 },
    ...{ deliverable: 1, undeliverable: 1, risky: 1 },
  });
  const by = worldsVerifier.type;
  expect(await resultsOf(second)).toEqual([
    { email: 'info@x.example', result: 'risky', reasons: 'disposable,role', by },
    { email: 'new@x.example', result: 'deliverable', reasons: null, by },
    { email: 'gone@x.example', result: 'undeliverable', reasons: 'no_domain', by },
  ]);
  const ages = await queryRows<{ days: number }>(
    root.db,
    sql`SELECT extract(day FROM now() - verified_at)::int AS days FROM subscriber WHERE list_id = ${second.id} ORDER BY id`,
  );
  expect(ages.map(({ days }) => days)).toEqual([10, 0, 10]);
});

test('not one older than 30 days, or than the run says, none that is unknown, and none of another type', async () => {
  const emails = ['old@x.example', 'aged@x.example', 'slow@x.example', 'other@x.example', 'fresh@x.example'];
  const { ctx, list, second } = await newVerified(emails);
  const change = (email: string, set: ReturnType<typeof sql>) =>
    root.db.execute(sql`UPDATE subscriber SET ${set} WHERE list_id = ${list.id} AND email = ${email}`);
  await change('old@x.example', sql`verified_at = now() - interval '31 days'`);
  await change('aged@x.example', sql`verified_at = now() - interval '8 days'`);
  await change('other@x.example', sql`verified_by = 'address-check'`);
  await addPeople(second, emails);
  await run(ctx, await startVerification(ctx, { listUid: second.uid }));
  expect(verifier.calls).toEqual([['old@x.example', 'slow@x.example', 'other@x.example']]);
  const third = await newList(ctx);
  await addPeople(third, ['aged@x.example', 'fresh@x.example']);
  verifier.calls.length = 0;
  await run(ctx, await startVerification(ctx, { listUid: third.uid, olderThanDays: 7 }));
  expect(verifier.calls).toEqual([['aged@x.example']]);
  verifier.calls.length = 0;
  await run(ctx, await startVerification(ctx, { listUid: third.uid, olderThanDays: 0 }));
  expect(verifier.calls).toEqual([['aged@x.example', 'fresh@x.example']]);
});

test('not one of another customer', async () => {
  await newVerified(['ada@x.example']);
  const other = await newOwner();
  await addPeople(other.list, ['ada@x.example']);
  await run(other.ctx, await startVerification(other.ctx, { listUid: other.list.uid }));
  expect(verifier.calls).toEqual([['ada@x.example']]);
});

test('two runs at the same time ask about each address once, and both get all results', async () => {
  const { ctx, list } = await newOwner();
  const second = await newList(ctx);
  await addPeople(list, [...some(150), ...some(20, 'a')]);
  await addPeople(second, [...some(20, 'b'), ...some(150).toReversed()]);
  verifier.answer = async (addresses) => {
    await sleep(20);
    return usualAnswers(addresses);
  };
  const runs = [
    await startVerification(ctx, { listUid: list.uid }),
    await startVerification(ctx, { listUid: second.uid }),
  ] as const;
  await Promise.all(runs.map((one) => runToEnd(ctx, one)));
  const asked = verifier.calls.flat();
  expect(asked).toHaveLength(190);
  expect(new Set(asked).size).toBe(190);
  const [first, other] = await Promise.all(runs.map(stateOf));
  expect([first?.['processed'], other?.['processed']]).toEqual([170, 170]);
  expect(Number(first?.['reused']) + Number(other?.['reused'])).toBe(150);
  for (const one of [list, second])
    expect((await resultsOf(one)).every(({ result }) => result === 'deliverable')).toBe(true);
  expect(await queryRows(root.db, sql`SELECT 1 FROM hot.address_claim WHERE customer_id = ${list.customerId}`)).toEqual(
    [],
  );
});

test('a run waits for an address that another one is asking about, without a worker; a claim of a dead process ends', async () => {
  const { ctx, list } = await newOwner();
  const second = await newList(ctx);
  await addPeople(list, ['ada@x.example', 'bob@x.example']);
  await addPeople(second, ['ada@x.example']);
  const dead = await startVerification(ctx, { listUid: second.uid });
  await root.db.execute(sql`
    INSERT INTO hot.address_claim SELECT ${list.customerId}, ${worldsVerifier.type}, hashtextextended('ada@x.example', 0), ${dead.id}, now() + interval '150 seconds'`);
  const started = await startVerification(ctx, { listUid: list.uid });
  await run(ctx, started);
  expect(verifier.calls).toEqual([['bob@x.example']]);
  expect(await stateOf(started)).toMatchObject({ status: 'running', processed: 1, after_id: 0n });
  const [job] = await jobsOf(started);
  expect(job?.wait).toBeGreaterThan(2);
  expect(job?.wait).toBeLessThan(10);
  await root.db.execute(sql`UPDATE hot.address_claim SET ends_at = now() - interval '1 second'`);
  await run(ctx, started);
  expect(verifier.calls).toEqual([['bob@x.example'], ['ada@x.example']]);
  expect(await stateOf(started)).toMatchObject({ status: 'done', processed: 2, reused: 0 });
});

test('claims of dead processes go by schedule, also of a customer with no further run; held ones stay', async () => {
  const { list, ctx } = await newOwner();
  const dead = await startVerification(ctx, { listUid: list.uid });
  await root.db.execute(sql`
    INSERT INTO hot.address_claim
    SELECT ${list.customerId}, ${worldsVerifier.type}, no, ${dead.id}, now() + make_interval(secs => no * 60 - 90) FROM generate_series(1, 3) AS no`);
  const [scheduled] = crontab.filter(({ task }) => task === sweepVerificationsJob.name);
  expect(scheduled?.match).toMatch(/^\d+ \* /);
  const [sweep] = verificationTasks.filter(({ name }) => name === scheduled?.task);
  await sweep?.run(
    root,
    {},
    {
      ...{ abortSignal: new AbortController().signal, workerId: 'w', jobId: '1', attempt: 1, attemptsMax: 1 },
    },
  );
  const left = await queryRows(
    root.db,
    sql`SELECT address::int AS no FROM hot.address_claim WHERE run_id = ${dead.id} ORDER BY address`,
  );
  expect(left).toEqual([{ no: 2 }, { no: 3 }]);
});

test('a run whose own process died asks again at once', async () => {
  const { ctx, list } = await newOwner();
  await addPeople(list, ['ada@x.example']);
  const started = await startVerification(ctx, { listUid: list.uid });
  await root.db.execute(sql`
    INSERT INTO hot.address_claim SELECT ${list.customerId}, ${worldsVerifier.type}, hashtextextended('ada@x.example', 0), ${started.id}, now() + interval '150 seconds'`);
  await run(ctx, started);
  expect(await stateOf(started)).toMatchObject({ status: 'done', processed: 1 });
});

test('what was said of a person who was erased is gone: nothing is left to take over', async () => {
  const { ctx, list, second } = await newVerified(['ada@x.example', 'bob@x.example']);
  await erasePerson(ctx, { email: 'ada@x.example' });
  const [left] = await queryRows<{ n: number }>(
    root.db,
    sql`SELECT count(*)::int AS n FROM subscriber WHERE customer_id = ${list.customerId} AND email_key = 'ada@x.example'`,
  );
  expect(left).toEqual({ n: 0 });
  await addPeople(second, ['ada@x.example', 'bob@x.example']);
  await run(ctx, await startVerification(ctx, { listUid: second.uid }));
  expect(verifier.calls).toEqual([['ada@x.example']]);
});
