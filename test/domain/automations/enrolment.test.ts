/** Letting in who matches a flow already (D71): by number and rate, in turns that die between any two statements, with each refusal counted. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createSegment } from '../../../src/domain/audience/segments/create-segment.ts';
import { deleteAutomation } from '../../../src/domain/automations/delete-automation.ts';
import { cancelEntering, enrolmentsOf } from '../../../src/domain/automations/entries/cancel-entering.ts';
import { enterExisting, type EnterExistingInput } from '../../../src/domain/automations/entries/enter-existing.ts';
import { previewEntering } from '../../../src/domain/automations/entries/preview-entering.ts';
import { latestEnrolments, type Enrolment } from '../../../src/domain/automations/entries/enrolment-read-model.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { workEnrolment } from '../../../src/domain/automations/entries/work-enrolment.ts';
import type { Context } from '../../../src/domain/context.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { mortalProcess } from '../../support/mortal-process.ts';
import { createTestContext } from '../../support/test-context.ts';
import { createTenant } from '../../support/tenant.ts';

const context = await createTestContext();
const startWorld = () => startFlowWorld(new Date().toISOString(), context);
type World = Awaited<ReturnType<typeof startWorld>>;

const STOP = { nodes: [{ id: 'stop', type: 'end' }], edges: [{ from: 'start', to: 'stop' }] };
const REST = { nodes: [{ id: 'rest', type: 'wait', for: { days: 1 } }], edges: [{ from: 'start', to: 'rest' }] };
const AT_ONCE = 1_000_000;

const work = (ctx: Context, enrolment: Enrolment, isStopping = () => false) =>
  workEnrolment(ctx, enrolment, { isStopping, isLastTry: false });
const act = async ({ ctx }: World, uid: string, given: Partial<EnterExistingInput> = {}) => {
  const { mayEnter } = await previewEntering(ctx, uid, given);
  return enterExisting(ctx, uid, { people: mayEnter, perHour: AT_ONCE, ...given });
};
const shown = async ({ ctx }: World, uid: string) => {
  const [latest] = await enrolmentsOf(ctx, uid);
  return latest && { status: latest.status, entered: latest.entered, refused: latest.refused, reason: latest.reason };
};
/** Who has entered, as often as they did. */
async function entered({ ctx }: World, { key }: { readonly key: { readonly automationId: bigint } }) {
  const rows = await queryRows<{ personId: bigint; reason: string }>(
    ctx.db,
    sql`SELECT person_id AS "personId", reason FROM hot.flow_step WHERE automation_id = ${key.automationId} AND what = 'entered' ORDER BY person_id`,
  );
  expect(rows.every(({ reason }) => reason === 'existing' || reason === 'execute')).toBe(true);
  return rows.map(({ personId }) => personId);
}
/** How many seconds the rate has given out so far, and how long the job of the next turn waits at least: for that, or for `more` seconds. */
async function nextTurn({ ctx }: World, { id }: Enrolment, more = 0) {
  const [job] = await queryRows<{ given: number; isInTime: boolean }>(
    ctx.db,
    sql`SELECT extract(epoch FROM e.next_at - e.created_at)::float8 AS given,
               j.run_at >= greatest(e.next_at - interval '1 second', j.updated_at + make_interval(secs => ${more}::int - 1)) AS "isInTime"
          FROM automation_enrolment e JOIN graphile_worker._private_jobs j ON j.key = ${`automations.enrol ${id}`} WHERE e.id = ${id}`,
  );
  return job;
}
const letNextIn = ({ ctx }: World, { id }: Enrolment) =>
  ctx.db.execute(sql`UPDATE automation_enrolment SET next_at = now() WHERE id = ${id}`);

test('publishing lets nobody in; the act lets in who matches and may enter, and counts why others may not', async () => {
  const world = await startWorld();
  const { ctx, list } = world;
  const flow = await world.publish({
    triggers: [{ type: 'tag_added', tag: 'VIP', if: { email: { domain: 'example.org' } } }],
    ...REST,
  });
  const people: bigint[] = [];
  for (let no = 0; no < 5; no++) people.push(await world.person({ tags: ['vip'] }));
  const [first = 0n, second = 0n, third = 0n, ...others] = people;
  await world.person({ tags: ['other'] });
  await world.person({ tags: ['vip'], email: 'not@elsewhere.example' });
  expect(await entered(world, flow)).toEqual([]);
  await world.enter(flow, [first]);
  await ctx.db.execute(sql`UPDATE subscriber SET status = 'unsubscribed' WHERE id = ${second}`);
  await ctx.db.execute(
    sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT customer_id, email_key, 'manual' FROM subscriber WHERE id = ${third}`,
  );
  const preview = await previewEntering(ctx, flow.uid, {});
  expect(preview).toMatchObject({ version: 1, matching: 5, mayEnter: 2, triggers: ['tag_added'], triggersLeftOut: [] });
  expect(Object.fromEntries(preview.refused.map(({ reason, people: count }) => [reason, count]))).toEqual({
    ...{ entered_before: 1, not_subscribed: 1, suppressed: 1 },
  });
  const enrolment = await enterExisting(ctx, flow.uid, { people: 2, perHour: AT_ONCE });
  expect(enrolment).toMatchObject({ status: 'running', confirmed: 2, matching: 5, entered: 0 });
  // Who comes later is let in by the triggers.
  const [late = 0n] = await subscriberPeople(ctx.db, list, 1);
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{vip}' WHERE id = ${late}`);
  await work(ctx, enrolment);
  expect(await entered(world, flow)).toEqual([first, ...others]);
  expect(await shown(world, flow.uid)).toEqual({
    ...{ status: 'done', entered: 2, reason: null },
    refused: { entered_before: 1, not_subscribed: 1, suppressed: 1 },
  });
  expect(await world.counts(flow)).toEqual({ rest: 'entered 3, waiting 3' });
  // It is over: another job of it does nothing.
  await work(ctx, enrolment);
  expect(await entered(world, flow)).toHaveLength(3);
});

test('who matches: by each trigger that stays true of a person, in the segment that is chosen, or without triggers', async () => {
  const world = await startWorld();
  const { ctx, list } = world;
  const [tagged, plain, confirmed] = [
    await world.person({ tags: ['vip'] }),
    await world.person(),
    await world.person(),
  ];
  await ctx.db.execute(
    sql`INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source) VALUES (${list.customerId}, ${list.id}, ${confirmed}, 'subscribed', 'confirmation')`,
  );
  const segment = await createSegment(ctx, { listUid: list.uid, name: 'Vip', rule: { tags: { hasAny: ['vip'] } } });
  const matching = async (triggers: readonly object[], whom: object = {}) => {
    const { uid } = await world.publish({ triggers, ...STOP });
    const { mayEnter, triggers: by, triggersLeftOut } = await previewEntering(ctx, uid, whom);
    return [mayEnter, by, triggersLeftOut];
  };
  expect([tagged, plain]).toHaveLength(2);
  expect(await matching([{ type: 'subscribed' }])).toEqual([3, ['subscribed'], []]);
  expect(await matching([{ type: 'segment_entered', segmentUid: segment.uid }])).toEqual([1, ['segment_entered'], []]);
  expect((await matching([{ type: 'confirmed' }]))[1]).toEqual(['confirmed']);
  expect(await matching([{ type: 'campaign_opened' }, { type: 'campaign_clicked', linkContains: 'sale' }])).toEqual([
    ...[0, ['campaign_opened', 'campaign_clicked'], []],
  ]);
  expect(
    await matching([{ type: 'tag_added', tag: 'nobody' }, { type: 'tag_added', tag: 'vip' }, { type: 'execute' }]),
  ).toEqual([...[1, ['tag_added'], ['execute']]]);
  expect(await matching([{ type: 'subscribed' }], { segmentUid: segment.uid })).toEqual([1, ['subscribed'], []]);
  expect(await matching([{ type: 'execute' }], { withoutTriggers: true })).toEqual([3, [], []]);
  expect(await matching([{ type: 'execute' }], { withoutTriggers: true, segmentUid: segment.uid })).toEqual([
    1,
    [],
    [],
  ]);
  await expect(matching([{ type: 'execute' }, { type: 'tag_removed', tag: 'vip' }])).rejects.toMatchObject({
    fields: { withoutTriggers: [expect.stringContaining('execute')] },
  });
});

test('the rules of entry hold, and the preview knows them', async () => {
  const world = await startWorld();
  const { ctx } = world;
  const people = [await world.person(), await world.person(), await world.person()];
  const [one = 0n, two = 0n] = people;
  const previewOf = async (entry: object) => {
    const flow = await world.publish({ triggers: [{ type: 'subscribed' }], entry, ...REST });
    await world.enter(flow, [one]);
    await ctx.db.execute(
      sql`INSERT INTO hot.flow_entry (customer_id, automation_id, person_id, run_id, entered_at, ended_at, blocked_at)
          VALUES (${flow.key.customerId}, ${flow.key.automationId}, ${two}, 0, now() - interval '40 days', now(), now())`,
    );
    const { mayEnter, refused } = await previewEntering(ctx, flow.uid, {});
    await work(ctx, await act(world, flow.uid));
    expect((await shown(world, flow.uid))?.refused).toEqual(
      Object.fromEntries(refused.map(({ reason, people: count }) => [reason, count])),
    );
    return [mayEnter, ...refused.map(({ reason }) => reason).toSorted()];
  };
  expect(await previewOf({ mode: 'once' })).toEqual([1, 'entered_before']);
  expect(await previewOf({ mode: 'after_end' })).toEqual([1, 'in_flow', 'too_often']);
  expect(await previewOf({ mode: 'after_days', days: 30 })).toEqual([1, 'too_often', 'too_soon']);
  const keyed = await world.publish({
    ...{ triggers: [{ type: 'event', name: 'left_cart' }], entry: { mode: 'per_key', key: 'cart.id' }, ...REST },
  });
  await expect(previewEntering(ctx, keyed.uid, {})).rejects.toMatchObject({ code: 'ENTRY_NEEDS_KEYS' });
});

test('so many an hour: a turn lets in its share, and the next one waits for its time', async () => {
  const world = await startWorld();
  const { ctx } = world;
  const flow = await world.publish({ triggers: [{ type: 'subscribed' }], ...STOP });
  await subscriberPeople(ctx.db, world.list, 5);
  const enrolment = await act(world, flow.uid, { perHour: 240 });
  await work(ctx, enrolment);
  expect(await entered(world, flow)).toHaveLength(2);
  expect(await shown(world, flow.uid)).toMatchObject({ status: 'running', entered: 2 });
  // Two people of 240 an hour: half a minute.
  const next = await nextTurn(world, enrolment);
  expect(next?.given).toBeGreaterThanOrEqual(30);
  expect(next?.isInTime).toBe(true);
  // Before its time it does nothing.
  await work(ctx, enrolment);
  expect(await entered(world, flow)).toHaveLength(2);
  for (let turn = 0; turn < 2; turn++) {
    await letNextIn(world, enrolment);
    await work(ctx, enrolment);
  }
  expect(new Set(await entered(world, flow)).size).toBe(5);
  expect(await shown(world, flow.uid)).toMatchObject({ status: 'done', entered: 5, refused: {} });
});

test('a pause holds it, a cancel ends it, and who has entered stays', async () => {
  const world = await startWorld();
  const { ctx } = world;
  const flow = await world.publish({ triggers: [{ type: 'subscribed' }], ...STOP });
  await subscriberPeople(ctx.db, world.list, 4);
  const enrolment = await act(world, flow.uid, { perHour: 120 });
  await work(ctx, enrolment);
  await setAutomationStatus(ctx, flow.uid, 'inactive');
  await letNextIn(world, enrolment);
  await work(ctx, enrolment);
  expect(await entered(world, flow)).toHaveLength(1);
  expect(await nextTurn(world, enrolment, 60)).toMatchObject({ isInTime: true });
  await setAutomationStatus(ctx, flow.uid, 'active');
  await letNextIn(world, enrolment);
  await work(ctx, enrolment);
  expect(await entered(world, flow)).toHaveLength(2);
  expect(await cancelEntering(ctx, flow.uid)).toMatchObject({ status: 'cancelled', entered: 2 });
  await letNextIn(world, enrolment);
  await work(ctx, enrolment);
  expect(await entered(world, flow)).toHaveLength(2);
  await expect(cancelEntering(ctx, flow.uid)).rejects.toMatchObject({ code: 'NO_ENROLMENT' });
});

test('the number that is named must be near, and no more than that enter, whatever comes meanwhile', async () => {
  const world = await startWorld();
  const { ctx } = world;
  const flow = await world.publish({ triggers: [{ type: 'tag_added', tag: 'vip' }], ...STOP });
  const ids = await subscriberPeople(ctx.db, world.list, 60);
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{vip}' WHERE id = ANY (${ids.slice(0, 20)}::bigint[])`);
  const name = (people: number) => enterExisting(ctx, flow.uid, { people, perHour: AT_ONCE });
  for (const people of [9, 31, 5_000])
    await expect(name(people)).rejects.toMatchObject({
      code: 'ENROLMENT_CHANGED',
      fields: { people: [expect.stringContaining('20 may enter now')] },
    });
  await expect(name(0)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  const enrolment = await name(20);
  await expect(name(20)).rejects.toMatchObject({ code: 'ENROLMENT_RUNNING' });
  await ctx.db.execute(sql`UPDATE subscriber SET tags = '{vip}' WHERE id = ANY (${ids}::bigint[])`);
  for (let turn = 0; turn < 2; turn++) {
    await letNextIn(world, enrolment);
    await work(ctx, enrolment);
  }
  // 20 and the tolerance.
  expect(await entered(world, flow)).toHaveLength(30);
  expect(await shown(world, flow.uid)).toMatchObject({ status: 'failed', reason: 'more_than_confirmed', entered: 30 });
});

test('what is refused: a flow that is not active or not published, nobody who may enter, a segment of another list, strangers', async () => {
  const world = await startWorld();
  const { ctx } = world;
  const flow = await world.publish({ triggers: [{ type: 'subscribed' }], ...STOP });
  const one = { people: 1, perHour: 1 };
  await expect(enterExisting(ctx, flow.uid, one)).rejects.toMatchObject({ code: 'NOBODY_ENTERS' });
  await expect(enterExisting(ctx, flow.uid, { ...one, segmentUid: '0123456789abc' })).rejects.toMatchObject({
    code: 'SEGMENT_NOT_FOUND',
  });
  await setAutomationStatus(ctx, flow.uid, 'inactive');
  await expect(enterExisting(ctx, flow.uid, one)).rejects.toMatchObject({ code: 'AUTOMATION_NOT_ACTIVE' });
  const stranger = await createTenant(context);
  const asks = [previewEntering, enrolmentsOf, cancelEntering, enterExisting];
  for (const ask of asks)
    await expect(ask(stranger, flow.uid, one)).rejects.toMatchObject({ code: 'AUTOMATION_NOT_FOUND' });
});

test('a process that dies between any two statements lets each person in once, and two at once do, too', async () => {
  const world = await startWorld();
  const { ctx } = world;
  const flow = await world.publish({ triggers: [{ type: 'subscribed' }], ...STOP });
  await subscriberPeople(ctx.db, world.list, 2_500);
  await ctx.db.execute(
    sql`UPDATE subscriber SET status = 'unconfirmed' WHERE list_id = ${world.list.id} AND id % 10 = 0`,
  );
  const { mayEnter } = await previewEntering(ctx, flow.uid, {});
  const enrolment = await act(world, flow.uid);
  for (let diesAt = 1; ; diesAt += 2) {
    await letNextIn(world, enrolment);
    const mortal = mortalProcess(ctx, diesAt);
    await Promise.allSettled([work(mortal.ctx, enrolment, () => mortal.isDead())]);
    if (!mortal.isDead()) break;
  }
  for (let turn = 0; turn < 5; turn++) {
    await letNextIn(world, enrolment);
    await Promise.all([work(ctx, enrolment), work(ctx, enrolment)]);
  }
  const all = await entered(world, flow);
  expect([all.length, new Set(all).size]).toEqual([mayEnter, mayEnter]);
  expect(await shown(world, flow.uid)).toEqual({ status: 'done', entered: mayEnter, refused: {}, reason: null });
});

test('one that fails again and again says so; those of a deleted automation are gone, and older ones are not kept for ever', async () => {
  const world = await startWorld();
  const { ctx } = world;
  const flow = await world.publish({ triggers: [{ type: 'subscribed' }], ...STOP });
  await subscriberPeople(ctx.db, world.list, 2);
  const enrolment = await act(world, flow.uid);
  const broken = mortalProcess(ctx, 2);
  await expect(workEnrolment(broken.ctx, enrolment, { isStopping: () => false, isLastTry: false })).rejects.toThrow(
    'died',
  );
  expect(await shown(world, flow.uid)).toMatchObject({ status: 'running' });
  await ctx.db.execute(
    sql`UPDATE automation_enrolment SET rule = '{"createdAt": {"before": "no time"}}' WHERE id = ${enrolment.id}`,
  );
  await workEnrolment(ctx, enrolment, { isStopping: () => false, isLastTry: true });
  expect(await shown(world, flow.uid)).toMatchObject({ status: 'failed', reason: 'failed', entered: 0 });
  for (let no = 0; no < 21; no++) {
    await act(world, flow.uid);
    await cancelEntering(ctx, flow.uid);
  }
  expect(await enrolmentsOf(ctx, flow.uid)).toHaveLength(20);
  const last = await act(world, flow.uid);
  await deleteAutomation(ctx, flow.uid);
  await work(ctx, last);
  expect(await latestEnrolments(ctx.db, flow.key, 30)).toEqual([]);
});
