/** What is held as a restored backup and what is not (HARD-CASES A15), each with the database's own signs. */
import { beforeEach, describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { EVERYBODY } from '../../../src/domain/automations/entries/enrolment.ts';
import { latestEnrolments } from '../../../src/domain/automations/entries/enrolment-read-model.ts';
import { insertEnrolment } from '../../../src/domain/automations/entries/enrolment-store.ts';
import { latestFlowTests } from '../../../src/domain/automations/live-test/flow-test-read-model.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { insertTests } from '../../../src/domain/delivery/campaigns/test-message-store.ts';
import { pauseOverdueCampaigns } from '../../../src/domain/installation/pause-overdue.ts';
import { restoreReasonOf, type Arrival } from '../../../src/domain/installation/place.ts';
import { enterProcess, livingProcesses, signOfLife } from '../../../src/domain/installation/process-store.ts';
import { guardRestoredBackup, hold, holdOf, endHold } from '../../../src/domain/installation/restore-guard.ts';
import { sendToFinishedJob } from '../../../src/jobs/automation-jobs.ts';
import { enqueue } from '../../../src/jobs/define-job.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { campaignWorld, statusOf } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const world = await campaignWorld(ctx, { recipients: 1, smtpPort: 1 });
const HERE = { address: 'db:5432/mailwright', file: null };
const minutes = (count: number) => sql`make_interval(mins => ${count}::int)`;

/** As if the program had last worked with it this long ago. */
async function silentFor(count: number): Promise<void> {
  await ctx.db.execute(sql`DELETE FROM hot.process`);
  await ctx.db.execute(sql`
    INSERT INTO hot.process (id, host, pid, roles, version, seen_at, memory_mb, is_working)
    VALUES (gen_random_uuid(), 'h', 1, '{worker}', '1', now() - ${minutes(count)}, 1, true)`);
}

async function campaignIs(status: string): Promise<void> {
  await ctx.db.execute(sql`UPDATE campaign SET status = ${status} WHERE id = ${world.campaignId}`);
}

async function known(change: Record<string, unknown>): Promise<void> {
  await ctx.db.execute(
    sql`UPDATE setting SET value = value || ${JSON.stringify(change)}::jsonb WHERE key = 'installation.place'`,
  );
}

const arrive = (place: { address: string | null; file: string | null } = HERE, seenAt: Date | null = null) =>
  guardRestoredBackup(ctx, { place, seenAt });

describe('an installation that starts', () => {
  beforeEach(async () => {
    await ctx.db.execute(sql`DELETE FROM setting WHERE key LIKE 'installation.%'`);
    await silentFor(60);
    await campaignIs('sending');
    expect(await arrive()).toBeNull();
  });

  it.each([
    ['after a week of silence, where it always was', async () => silentFor(10_080), undefined],
    ['in a new container at once, at a new address', async () => silentFor(2), { address: 'other:5432/x', file: null }],
    ['after the failover of a running database', async () => (await silentFor(5), known({ timeline: 999 })), undefined],
  ])('goes on %s', async (_name, prepare, place) => {
    await prepare();
    expect(await arrive(place)).toBeNull();
    expect(await holdOf(ctx.db)).toBeNull();
  });

  it.each([
    [
      'a dump was loaded, however fresh',
      async () => (await silentFor(0), known({ marks: '1.2.3.4' })),
      undefined,
      /dump/,
    ],
    ['files were recovered to a point in time', async () => known({ timeline: 999 }), undefined, /point in time/],
    ['it is at an address where it never was', async () => undefined, { address: 'b:1/x', file: null }, /address/],
    ['the embedded files are a copy', async () => known({ files: ['1.1'] }), { address: null, file: '2.2' }, /copy/],
  ])('is held when %s', async (_name, prepare, place, reason) => {
    await prepare();
    expect((await arrive(place))?.reason).toMatch(reason);
    // A restart does not help, and by now there are signs of life.
    await silentFor(0);
    expect((await arrive())?.reason).toMatch(reason);
  });

  it('is held when this machine has seen more of it', async () => {
    const later = new Date(Date.now() - 30 * 60_000);
    expect((await arrive(HERE, later))?.reason).toMatch(/30 minutes older/);
  });

  it('is not held when there is nothing to send, and remembers the new place', async () => {
    await campaignIs('paused');
    await known({ marks: '1.2.3.4' });
    expect(await arrive()).toBeNull();
    await campaignIs('sending');
    expect(await arrive()).toBeNull();
  });

  it('is released once, with everything paused or going on', async () => {
    for (const [choice, status] of [
      ['continue', 'sending'],
      ['pause', 'paused'],
    ] as const) {
      await campaignIs('sending');
      await known({ marks: '1.2.3.4' });
      expect(await arrive()).not.toBeNull();
      await endHold(ctx, choice);
      expect(await statusOf(world)).toBe(status);
      await expect(endHold(ctx, choice)).rejects.toThrow('not on hold');
      expect(await arrive()).toBeNull();
    }
  });
});

it('drops what would mail somebody by itself when all is paused, and nothing else', async () => {
  const jobs = [
    ...['audience.send-confirmation', 'audience.send-list-mail', 'audience.notify-unsubscribes'],
    ...['campaigns.send-tests', 'sending.address-mail', 'sending.domain-mail', 'imports.run'],
  ];
  await campaignIs('sending');
  for (const name of jobs)
    await queryRows(ctx.db, sql`SELECT graphile_worker.add_job(${name}, '{"customerId": "1"}'::json)`);
  await known({ marks: '1.2.3.4' });
  expect(await arrive()).not.toBeNull();
  await endHold(ctx, 'pause');
  const left = await queryRows<{ name: string }>(
    ctx.db,
    sql`SELECT task_identifier AS name FROM graphile_worker.jobs WHERE task_identifier = ANY(${jobs})`,
  );
  expect(left.map(({ name }) => name)).toEqual(['imports.run']);
});

it('keeps what was asked for while it was held, and lists what goes', async () => {
  const { customerId } = viewerOf(world.ctx);
  const [list] = await queryRows<{ id: bigint; uid: string }>(ctx.db, sql`SELECT id, uid FROM mail_list LIMIT 1`);
  const limitedDnsQuery = (subscriberId: number, key: string | null = null) =>
    queryRows(
      ctx.db,
      sql`SELECT graphile_worker.add_job('audience.send-confirmation', ${JSON.stringify({
        customerId: String(customerId),
        listId: String(list?.id),
        subscriberId,
      })}::json, job_key => ${key}::text)`,
    );
  await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
  await ctx.db.execute(sql`DELETE FROM test_message`);
  for (const person of [1, 2]) await limitedDnsQuery(person);
  await limitedDnsQuery(3, 'asked for again');
  await hold(ctx.db, 'by hand');
  await limitedDnsQuery(3, 'asked for again');
  await limitedDnsQuery(4);
  const campaign = { customerId, campaignId: world.campaignId };
  await insertTests(ctx.db, { campaign, readers: [{ email: 'later@x.test', subscriberId: null }], isMarked: true });
  const { mailsDropped } = await endHold(ctx, 'pause');
  expect(mailsDropped).toMatchObject([{ kind: 'audience.send-confirmation', listUid: list?.uid, count: 2 }]);
  const left = await queryRows<{ person: string }>(
    ctx.db,
    sql`SELECT payload ->> 'subscriberId' AS person FROM graphile_worker._private_jobs ORDER BY 1`,
  );
  expect(left.map(({ person }) => person)).toEqual(['3', '4']);
  expect(await queryRows(ctx.db, sql`SELECT state FROM test_message`)).toEqual([{ state: 'queued' }]);
});

it.each([
  ['pause', 'failed', 'The installation was restored from a backup: try it again.'],
  ['continue', 'queued', null],
] as const)('after "%s" a test message that waits is %s, and no other is touched', async (choice, state, reply) => {
  await ctx.db.execute(sql`DELETE FROM test_message`);
  const campaign = { customerId: viewerOf(world.ctx).customerId, campaignId: world.campaignId };
  const emails = ['queued', 'sending', 'sent', 'suppressed'];
  const readers = emails.map((email) => ({ email, subscriberId: null }));
  await insertTests(ctx.db, { campaign, readers, isMarked: true });
  await ctx.db.execute(sql`UPDATE test_message SET state = email, created_at = created_at - interval '1 second'`);
  await hold(ctx.db, 'by hand');
  await endHold(ctx, choice);
  const rows = await queryRows(ctx.db, sql`SELECT email, state, reply FROM test_message ORDER BY id`);
  const untouched = emails.slice(1).map((email) => ({ email, state: email, reply: null }));
  expect(rows).toEqual([{ email: 'queued', state, reply }, ...untouched]);
});

it.each([
  ['pause', 'cancelled'],
  ['continue', 'running'],
] as const)(
  'after "%s" letting people into an automation and its live tests are %s, and what was begun later goes on',
  async (choice, state) => {
    const { customerId } = viewerOf(world.ctx);
    const [made] = await queryRows<{ id: bigint }>(
      ctx.db,
      sql`INSERT INTO automation (customer_id, list_id, uid, name, draft) VALUES (${customerId}, ${world.listId}, ${newUid()}, 'Flow', '{}') RETURNING id`,
    );
    const of = { customerId, automationId: made?.id ?? 0n };
    const begun = {
      ...{ listId: world.listId, rule: EVERYBODY, segmentUid: null, withoutTriggers: true },
      ...{ confirmed: 1, enteredMax: 11, perHour: 1, matching: 1 },
    } as const;
    await insertEnrolment(ctx.db, { ...of, ...begun });
    const beginTest = () =>
      ctx.db.execute(
        sql`INSERT INTO automation_test (customer_id, automation_id, flow, email, ports, wait_seconds, is_marked, position) VALUES (${customerId}, ${of.automationId}, '{}', 'x@x.test', '{}', 1, true, '{}')`,
      );
    await beginTest();
    for (const table of [sql`automation_enrolment`, sql`automation_test`])
      await ctx.db.execute(sql`UPDATE ${table} SET created_at = created_at - interval '1 second'`);
    await hold(ctx.db, 'by hand');
    await beginTest();
    await endHold(ctx, choice);
    expect(await latestEnrolments(ctx.db, of, 1)).toMatchObject([{ status: state }]);
    expect((await latestFlowTests(ctx.db, of, 2)).map(({ status }) => status)).toEqual(['running', state]);
  },
);

it.each([
  ['pause', 0],
  ['continue', 1],
] as const)('after "%s" %i job that was to let in who has finished an automation is left', async (choice, left) => {
  const { customerId } = viewerOf(world.ctx);
  const ids = { customerId: String(customerId), automationId: '1', afterId: '0' };
  await enqueue(ctx.db, sendToFinishedJob, { ...ids, version: 2, node: 'more', until: new Date() });
  await ctx.db.execute(
    sql`UPDATE graphile_worker._private_jobs j SET created_at = created_at - interval '1 second' WHERE j.payload->>'node' = 'more'`,
  );
  await hold(ctx.db, 'by hand');
  await endHold(ctx, choice);
  const [found] = await queryRows(
    ctx.db,
    sql`SELECT count(*)::int AS jobs FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
         WHERE t.identifier = ${sendToFinishedJob.name} AND j.payload->>'customerId' = ${ids.customerId}`,
  );
  expect(found).toEqual({ jobs: left });
});

describe('signs of life', () => {
  it('are known by their process, and tell when the database does not know it any more', async () => {
    await ctx.db.execute(sql`DELETE FROM hot.process`);
    const state = {
      id: crypto.randomUUID(),
      host: 'h',
      pid: 7,
      roles: ['web'],
      version: '1',
      memoryMb: 99,
      isWorking: false,
    };
    expect(await signOfLife(ctx.db, state)).toBeUndefined();
    await enterProcess(ctx.db, state);
    expect(await signOfLife(ctx.db, { ...state, memoryMb: 120 })).toBeInstanceOf(Date);
    expect(await livingProcesses(ctx.db)).toMatchObject([{ pid: 7, roles: ['web'], memoryMb: 120 }]);
  });
});

it('pauses campaigns whose time passed more than an hour ago, and no others', async () => {
  const statuses: string[] = [];
  for (const ago of [30, 59, 61, 10_000]) {
    await ctx.db.execute(
      sql`UPDATE campaign SET status = 'scheduled', delivery_at = now() - ${minutes(ago)} WHERE id = ${world.campaignId}`,
    );
    await pauseOverdueCampaigns(ctx);
    statuses.push(await statusOf(world));
  }
  expect(statuses).toEqual(['scheduled', 'scheduled', 'paused', 'paused']);
});

it('the rules know a doubtful place from an ordinary one', () => {
  const place = { marks: 'm', timeline: 1, address: 'a', file: null };
  const usual: Arrival = {
    place,
    known: { marks: 'm', timeline: 1, addresses: ['a'], files: [] },
    silentSeconds: 1e6,
    aheadSeconds: 0,
  };
  expect(restoreReasonOf(usual)).toBeNull();
  // A server whose role may not read its control file tells nothing by it.
  expect(restoreReasonOf({ ...usual, place: { ...place, timeline: null } })).toBeNull();
  expect(restoreReasonOf({ ...usual, known: { ...usual.known, addresses: [] } })).toBeNull();
  // A standby that was some seconds behind when it took over.
  expect(restoreReasonOf({ ...usual, aheadSeconds: 20 })).toBeNull();
});
