/** Rules of steps: time zones, mails that are there once, tries and their delays, shares of failures, lateness (D75, D80, D81, D83, D87, D89). */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { tryLockUntilCommit } from '../../../src/db/lock.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { updateList } from '../../../src/domain/audience/update-list.ts';
import { advanceDue } from '../../../src/domain/automations/engine/advance-due.ts';
import { startFlowWaker } from '../../../src/domain/automations/engine/flow-waker.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { messageRows } from '../../support/message-world.ts';
import { mortalProcess } from '../../support/mortal-process.ts';

const MINUTE_MS = 60_000;
const world = await startFlowWorld();
const { ctx, list } = world;
const triggers = [{ type: 'execute' }];
const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const inMinutes = (minutes: number) => new Date(world.now().getTime() + minutes * MINUTE_MS).toISOString();
const wakeOf = async (personId: bigint) => {
  const [run] = await queryRows<{ wake: Date | null }>(
    ctx.db,
    sql`SELECT wake_at AS wake FROM hot.flow_run WHERE person_id = ${personId}`,
  );
  return run?.wake?.toISOString();
};

async function template(): Promise<string> {
  const uid = newUid();
  await ctx.db.execute(
    sql`INSERT INTO template (customer_id, uid, name, kind, subject, html) VALUES (${list.customerId}, ${uid}, 'T', 'marketing', 'S', '<p>x</p>')`,
  );
  return uid;
}

test('a wait ends by the clock of the person, else of the list, else of the customer; what names no zone is none', async () => {
  await addListField(ctx, list.uid, { type: 'text', label: 'Zone', tag: 'ZONE' });
  await updateList(ctx, list.uid, { timezoneTag: 'ZONE' });
  await ctx.db.execute(sql`UPDATE customer SET timezone = 'Asia/Tokyo' WHERE id = ${list.customerId}`);
  const nodes = [{ id: 'rest', type: 'wait', for: { days: 2 }, at: '09:00' }];
  const flow = await world.publish({ triggers, nodes, edges: line('start', 'rest') });
  const [own, wrong, plain] = [
    await world.person({ fieldValues: { ZONE: 'Europe/Vienna' } }),
    await world.person({ fieldValues: { ZONE: 'UTC+9 or so' } }),
    await world.person(),
  ];
  await world.run('2026-11-27T08:00:00Z');
  await world.enter(flow, [own, wrong]);
  await updateList(ctx, list.uid, { timezone: 'America/New_York' });
  await world.enter(flow, [plain]);
  expect(await Promise.all([own, wrong, plain].map(wakeOf))).toEqual([
    ...['2026-11-29T08:00:00.000Z', '2026-11-29T00:00:00.000Z', '2026-11-29T14:00:00.000Z'],
  ]);
  await updateList(ctx, list.uid, { timezone: null, timezoneTag: null });
});

test('a worker that dies at any statement has moved people on with their mail in the ledger, or neither; each gets one', async () => {
  const nodes = [
    { id: 'rest', type: 'wait', for: { minutes: 1 } },
    { id: 'mail', type: 'send_mail', templateUid: await template() },
    { id: 'later', type: 'wait', for: { days: 1 } },
  ];
  const flow = await world.publish({ triggers, nodes, edges: line('start', 'rest', 'mail', 'later') });
  const all: bigint[] = [];
  const mails = async () => (await messageRows(ctx, 'flow % mail 1')).length;
  const passed = async () => Number(/passed (\d+)/.exec((await world.counts(flow))['mail'] ?? '')?.[1] ?? 0);
  for (let diesAt = 1, isDead = true; isDead; diesAt++) {
    const [person = 0n] = await subscriberPeople(ctx.db, list, 1);
    all.push(person);
    await world.enter(flow, [person]);
    const later = inMinutes(1);
    const mortal = mortalProcess(ctx, diesAt);
    const work = { now: () => new Date(later), isStopping: () => mortal.isDead() };
    await advanceDue(mortal.ctx, work).catch((error: unknown) => {
      if (!mortal.isDead()) throw error;
    });
    isDead = mortal.isDead();
    expect(await mails(), `died at ${diesAt}`).toBe(await passed());
    await world.run(later);
    expect(await mails(), `died at ${diesAt}`).toBe(all.length);
  }
  expect(all.length).toBeGreaterThan(20);
  expect(await passed()).toBe(all.length);
});

test('a goodbye mail goes to nobody who was suppressed after the flow had unsubscribed them', async () => {
  const nodes = [
    { id: 'leave', type: 'unsubscribe' },
    { id: 'rest', type: 'wait', for: { hours: 1 } },
    { id: 'bye', type: 'send_mail', templateUid: await template(), isGoodbye: true },
  ];
  const flow = await world.publish({ triggers, nodes, edges: line('start', 'leave', 'rest', 'bye') });
  const [suppressed, other] = [await world.person(), await world.person()];
  await world.enter(flow, [suppressed, other]);
  await world.run();
  await ctx.db.execute(
    sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT customer_id, email_key, 'complaint' FROM subscriber WHERE id = ${suppressed}`,
  );
  await world.run(inMinutes(60));
  expect((await world.steps(suppressed)).at(-1)).toBe('bye passed next suppressed');
  expect((await world.steps(other)).at(-1)).toBe('bye passed next');
  expect(await messageRows(ctx, 'flow % bye %')).toHaveLength(1);
});

test('on each pass through a way round the mail is another one', async () => {
  const nodes = [
    { id: 'weekly', type: 'send_mail', templateUid: await template() },
    { id: 'rest', type: 'wait', for: { hours: 1 } },
  ];
  const edges = line('start', 'weekly', 'rest', 'weekly');
  const flow = await world.publish({ triggers, nodes, edges, passesMax: 3 });
  await world.enter(flow, [await world.person()]);
  for (let hour = 0; hour < 5; hour++) await world.run(inMinutes(60));
  const causes = (await messageRows(ctx, 'flow % weekly %')).map(({ cause }) => cause.split(' ').at(-1));
  expect(causes).toEqual(['1', '2', '3']);
});

test('who is due is moved, and who waits at the same node for half an hour more is not', async () => {
  const nodes = [{ id: 'rest', type: 'wait', for: { hours: 1 } }];
  const flow = await world.publish({ triggers, nodes, edges: line('start', 'rest') });
  const [first, second] = [await world.person(), await world.person()];
  await world.enter(flow, [first]);
  await world.run(inMinutes(30));
  await world.enter(flow, [second]);
  await world.run(inMinutes(30));
  expect(await Promise.all([first, second].map(world.steps))).toEqual([
    ...[['rest entered execute', 'rest passed next'], ['rest entered execute']],
  ]);
});

test('a step that fails is tried again after one, two, four and eight minutes, then parked', async () => {
  const nodes = [{ id: 'mark', type: 'add_tag', tag: 'marked' }];
  const flow = await world.publish({ triggers, nodes, edges: line('start', 'mark') });
  const person = await world.person();
  await ctx.db.execute(sql`
    CREATE FUNCTION refuse_tags() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`);
  await ctx.db.execute(
    sql([
      `CREATE TRIGGER refuse_tags BEFORE UPDATE ON subscriber FOR EACH ROW WHEN (OLD.id = ${person}) EXECUTE FUNCTION refuse_tags()`,
    ]),
  );
  await world.enter(flow, [person]);
  for (const minutes of [0, 1, 2, 4, 8]) {
    const due = inMinutes(minutes);
    expect(await wakeOf(person)).toBe(due);
    await world.run(new Date(Date.parse(due) - 1).toISOString());
    expect(await world.counts(flow)).toEqual({ mark: 'entered 1, waiting 1' });
    await world.run(due);
  }
  await ctx.db.execute(sql`DROP TRIGGER refuse_tags ON subscriber`);
  expect(await world.steps(person)).toEqual(['mark entered execute', 'mark parked failed']);
});

/** People who can get no further tag, so they are parked, and as many others as wanted. */
async function enterSome(flow: Awaited<ReturnType<typeof world.publish>>, full: number, others: number) {
  const ids = await subscriberPeople(ctx.db, list, full + others);
  await ctx.db.execute(
    sql`UPDATE subscriber SET tags = ARRAY(SELECT 't' || n FROM generate_series(1, 1000) n) WHERE id = ANY (${ids.slice(0, full)}::bigint[])`,
  );
  await world.enter(flow, ids);
  await world.run();
}

test('a node is paused when more than a tenth is parked in an hour, not by fewer, nor by those of the hours before', async () => {
  const flow = async () =>
    world.publish({
      ...{ triggers, nodes: [{ id: 'mark', type: 'add_tag', tag: 'x' }] },
      edges: line('start', 'mark'),
    });
  const isPaused = async ({ key }: Awaited<ReturnType<typeof flow>>) =>
    (
      await queryRows(
        ctx.db,
        sql`SELECT 1 FROM hot.flow_node WHERE automation_id = ${key.automationId} AND paused_at IS NOT NULL`,
      )
    ).length > 0;
  const [few, more, slowly] = [await flow(), await flow(), await flow()];
  await enterSome(few, 10, 90);
  await enterSome(more, 11, 89);
  await enterSome(slowly, 9, 0);
  await ctx.db.execute(
    sql`UPDATE hot.flow_node SET hour_from = now() - interval '61 minutes' WHERE automation_id = ${slowly.key.automationId}`,
  );
  await enterSome(slowly, 9, 0);
  expect(await Promise.all([few, more, slowly].map(isPaused))).toEqual([false, true, false]);
});

test('20 entries of a person in 24 hours are no loop, one more is; entries before them do not count', async () => {
  const entry = { mode: 'per_key', key: 'cart' };
  const flow = await world.publish({
    triggers,
    entry,
    nodes: [{ id: 'stop', type: 'end' }],
    edges: line('start', 'stop'),
  });
  const [soon, later] = [await world.person(), await world.person()];
  const enter = (person: bigint, key: string) => world.enter(flow, [person], { entryKey: key });
  for (let no = 0; no < 20; no++) for (const person of [soon, later]) await enter(person, `k${no}`);
  await world.run(inMinutes(24 * 60 - 1));
  expect(await enter(soon, 'last')).toEqual([{ refused: 'too_often' }]);
  await world.run(inMinutes(2));
  expect(await enter(later, 'last')).toEqual([{ runId: expect.anything() }]);
});

test('steps that are late by over a minute are logged each minute, as long as nobody does them', async () => {
  const nodes = [{ id: 'mark', type: 'add_tag', tag: 'late' }];
  const flow = await world.publish({ triggers, nodes, edges: line('start', 'mark') });
  const { customerId, automationId, version } = flow.key;
  await world.enter(flow, [await world.person()]);
  // By the clock of the database, what the other tests have left may be late by now, too.
  await ctx.db.execute(sql`UPDATE hot.flow_node SET next_wake_at = NULL WHERE automation_id <> ${automationId}`);
  const warned: unknown[][] = [];
  let looks = 0;
  const countLook = (name?: string) => (looks += name === 'automations.seconds_overdue' ? 1 : 0);
  const db: typeof ctx.db = {
    ...ctx.db,
    query: (columns, statement, name) => ctx.db.query(columns, statement, name).finally(() => countLook(name)),
  };
  const log = { ...ctx.log, warn: (...given: unknown[]) => void warned.push(given) };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  await ctx.database.transaction(async (tx) => {
    // As a process does that works on the node and does not end.
    await tryLockUntilCommit(tx, `mailwright:flow-node:${customerId}:${automationId}:${version}:mark`);
    const waker = startFlowWaker({ ...ctx, db, log });
    for (const [no, seconds] of [30, 90].entries()) {
      await ctx.db.execute(
        sql`UPDATE hot.flow_node SET next_wake_at = now() - make_interval(secs => ${seconds}::int) WHERE automation_id = ${automationId}`,
      );
      vi.advanceTimersByTime(MINUTE_MS);
      while (looks <= no) await sleep(10);
    }
    await waker.stop(5_000);
  });
  const late = warned.filter(([name]) => name === 'automations.late');
  expect(late).toEqual([['automations.late', { seconds: expect.toSatisfy((seconds: number) => seconds >= 90) }]]);
  await setAutomationStatus(ctx, flow.uid, 'inactive');
});
