/** Flows copy and move people to other lists: each person once, by the rule of conflicts, within the plan, and never against an opt-out. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { deleteList } from '../../../src/domain/audience/delete-list.ts';
import { unsubscribePerson } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { advanceDue } from '../../../src/domain/automations/engine/advance-due.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { messageRows } from '../../support/message-world.ts';
import { mortalProcess } from '../../support/mortal-process.ts';
import { givePlan } from '../../support/plans.ts';
import { newList } from '../../support/tenant.ts';

const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
await addListField(ctx, list.uid, { type: 'text', label: 'Town', tag: 'TOWN' });
await addListField(ctx, list.uid, { type: 'text', label: 'Age', tag: 'AGE' });

const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const triggers = [{ type: 'execute' }];
const rest = { id: 'rest', type: 'wait', for: { days: 1 } };
const toList = (type: string, listUid: string, more: object = {}) => ({
  triggers,
  nodes: [{ id: 'go', type, listUid, ...more }, rest],
  edges: line('start', 'go', 'rest'),
});

/** A list with the fields of the first one, of which `AGE` is a number here. */
async function otherList(changes: Parameters<typeof newList>[1] = {}) {
  const other = await newList(ctx, changes);
  await addListField(ctx, other.uid, { type: 'text', label: 'Town', tag: 'TOWN' });
  await addListField(ctx, other.uid, { type: 'number', label: 'Age', tag: 'AGE' });
  return other;
}

const peopleOf = (listId: bigint) =>
  queryRows<{ id: bigint; email: string; status: string; fields: object; tags: string[]; source: string | null }>(
    ctx.db,
    sql`SELECT id, email, status, fields, tags, source FROM subscriber WHERE customer_id = ${list.customerId} AND list_id = ${listId} ORDER BY email`,
  );
const consentOf = (listId: bigint, personId: bigint) =>
  queryRows<{ status: string; source: string }>(
    ctx.db,
    sql`SELECT status, source FROM consent_event WHERE customer_id = ${list.customerId} AND list_id = ${listId} AND subscriber_id = ${personId} ORDER BY id`,
  );
const eventsOf = (personId: bigint) =>
  queryRows<{ kind: number; depth: number; data: unknown }>(
    ctx.db,
    sql`SELECT kind, depth, data FROM hot.person_event WHERE customer_id = ${list.customerId} AND person_id = ${personId} ORDER BY id`,
  );

test('a copy has the address, the tags and the values that the other list takes, and starts its flows one deeper', async () => {
  const other = await otherList();
  const flow = await world.publish(toList('copy_to_list', other.uid));
  const person = await world.person({ tags: ['Vip'], fieldValues: { TOWN: 'Bern', AGE: 'old', FIRST_NAME: 'Ann' } });
  await world.enter(flow, [person]);
  await world.run();
  expect(await world.steps(person)).toEqual(['go entered execute', 'go passed next']);
  const [copy, more] = await peopleOf(other.id);
  expect(more).toBeUndefined();
  expect(copy).toMatchObject({
    email: (await world.personRow(person))?.email,
    ...{ status: 'subscribed', tags: ['Vip'], source: 'flow', fields: { TOWN: 'Bern', FIRST_NAME: 'Ann' } },
  });
  expect(copy?.fields).not.toHaveProperty('AGE');
  expect(await consentOf(other.id, copy?.id ?? 0n)).toEqual([{ status: 'subscribed', source: 'flow' }]);
  expect(await eventsOf(copy?.id ?? 0n)).toEqual([{ kind: 1, depth: 1, data: { tags: ['Vip'] } }]);
  expect(await world.personRow(person)).toMatchObject({ status: 'subscribed' });
});

test.each([
  ['keep', { TOWN: 'Rome' }, ['there']],
  ['fill_empty', { TOWN: 'Rome', AGE: '40' }, ['there', 'here']],
  ['overwrite', { TOWN: 'Bern', AGE: '40' }, ['there', 'here']],
])('who is on the other list already: %s', async (onConflict, fields, tags) => {
  const other = await otherList();
  const flow = await world.publish(toList('copy_to_list', other.uid, { onConflict }));
  const person = await world.person({ tags: ['here'], fieldValues: { TOWN: 'Bern', AGE: '40' } });
  const email = (await world.personRow(person))?.email ?? '';
  await addSubscriber(ctx, { listUid: other.uid, email, tags: ['there'], fieldValues: { TOWN: 'Rome' } });
  await world.enter(flow, [person]);
  await world.run();
  expect(await peopleOf(other.id)).toMatchObject([{ email, fields, tags, status: 'subscribed' }]);
});

test('who has opted out of the other list stays out, and the flow may catch that', async () => {
  const other = await otherList();
  const caught = { nodes: [...toList('move_to_list', other.uid).nodes, { id: 'mark', type: 'add_tag', tag: 'stays' }] };
  const flow = await world.publish({
    ...toList('move_to_list', other.uid),
    ...caught,
    edges: [...line('start', 'go', 'rest'), { from: 'go', port: 'error', to: 'mark' }],
  });
  const person = await world.person();
  const email = (await world.personRow(person))?.email ?? '';
  await addSubscriber(ctx, { listUid: other.uid, email, status: 'unsubscribed' });
  await world.enter(flow, [person]);
  await world.run();
  expect(await world.steps(person)).toEqual([
    'go entered execute',
    'go passed error unsubscribed_there',
    'mark passed next',
  ]);
  expect(await world.personRow(person)).toMatchObject({ status: 'subscribed', tags: ['stays'] });
  expect(await peopleOf(other.id)).toMatchObject([{ status: 'unsubscribed' }]);
});

test('a move ends the subscription here as moved, says no goodbye, ends other flows here, and can be undone by a move back', async () => {
  const here = await world.publish({ triggers, nodes: [rest], edges: line('start', 'rest') });
  const leavers = await world.publish({
    triggers: [{ type: 'unsubscribed' }],
    nodes: [rest],
    edges: line('start', 'rest'),
  });
  const other = await otherList({ sendWelcomeEmail: true });
  const flow = await world.publish(toList('move_to_list', other.uid));
  const [person, left] = [await world.person(), await world.person()];
  await world.enter(here, [person]);
  await world.enter(flow, [person]);
  await world.run();
  await world.follow();
  expect(await world.personRow(person)).toMatchObject({ status: 'unsubscribed' });
  expect((await consentOf(list.id, person)).at(-1)).toEqual({ status: 'unsubscribed', source: 'move' });
  expect((await eventsOf(person)).at(-1)).toEqual({ kind: 6, depth: 1, data: { listUid: other.uid } });
  expect(await world.counts(here)).toEqual({ rest: 'entered 1, left 1' });
  expect(await world.steps(person)).toContain('rest left moved');
  expect(await world.counts(leavers)).toEqual({});
  // The flow that moved the person goes on.
  expect(await world.counts(flow)).toMatchObject({ rest: 'entered 1, waiting 1' });
  const [moved] = await peopleOf(other.id);
  expect((await messageRows(ctx, 'welcome %')).map(({ email }) => email)).toEqual([moved?.email]);
  expect(await messageRows(ctx, 'goodbye %')).toEqual([]);
  // Back, by the other list's worker: the same verb.
  const { copyPeople } = await import('../../../src/domain/audience/copy-people.ts');
  const back = (id: bigint) =>
    ctx.database.transaction((tx) =>
      copyPeople(
        { ...ctx, db: tx, tx },
        {
          ...{ customerId: list.customerId, listId: other.id, ids: [id], toListUid: list.uid, onConflict: 'keep' },
          ...{ isMove: true, now: new Date(), depths: new Map() },
        },
      ),
    );
  expect(await back(moved?.id ?? 0n)).toEqual(new Map());
  expect(await world.personRow(person)).toMatchObject({ status: 'subscribed' });
  // Who opts out after a move does not come back.
  await world.enter(flow, [left]);
  await world.run();
  const [, second] = (await peopleOf(other.id)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  await unsubscribePerson(ctx, { customerId: list.customerId, listId: list.id, id: left }, 'link');
  expect(await back(second?.id ?? 0n)).toEqual(new Map([[second?.id, 'unsubscribed_there']]));
});

test('who waits in another flow at the time leaves it as moved, whoever sees it first', async () => {
  const other = await otherList();
  const short = { id: 'rest', type: 'wait', for: { minutes: 1 } };
  const waiting = await world.publish({ triggers, nodes: [short], edges: line('start', 'rest') });
  const flow = await world.publish(toList('move_to_list', other.uid));
  const person = await world.person();
  await world.enter(waiting, [person]);
  await world.enter(flow, [person]);
  await world.run();
  await world.run(new Date(world.now().getTime() + 120_000).toISOString());
  expect(await world.steps(person)).toContain('rest left moved');
});

test('a list with double opt-in asks first', async () => {
  const other = await otherList({ subscribeConfirmation: true });
  const flow = await world.publish(toList('copy_to_list', other.uid));
  const person = await world.person();
  await world.enter(flow, [person]);
  await world.run();
  const [copy] = await peopleOf(other.id);
  expect(copy).toMatchObject({ status: 'pending' });
  expect((await messageRows(ctx, 'confirmation %')).map(({ email }) => email)).toEqual([copy?.email]);
});

test('a deleted list parks people with its reason; a list that is not there, and the own one, are faults', async () => {
  const other = await otherList();
  const flow = await world.publish(toList('copy_to_list', other.uid));
  const person = await world.person();
  await ctx.db.execute(sql`DELETE FROM mail_list WHERE customer_id = ${list.customerId} AND id = ${other.id}`);
  await world.enter(flow, [person]);
  await world.run();
  expect(await world.steps(person)).toEqual(['go entered execute', 'go parked list_deleted']);
  await expect(world.publish(toList('copy_to_list', other.uid))).rejects.toMatchObject({
    faults: [{ node: 'go', field: 'listUid', code: 'unknown_list' }],
  });
  await expect(world.publish(toList('move_to_list', list.uid))).rejects.toMatchObject({
    faults: [{ node: 'go', field: 'listUid', code: 'same_list' }],
  });
});

test('a process that dies between any two statements has moved people or not: each is there once', async () => {
  const other = await otherList();
  const flow = await world.publish(toList('move_to_list', other.uid));
  const all: bigint[] = [];
  for (let diesAt = 1, isDead = true; isDead; diesAt++) {
    expect(diesAt).toBeLessThan(200);
    const ids = await subscriberPeople(ctx.db, list, 2);
    all.push(...ids);
    await world.enter(flow, ids);
    const process = mortalProcess(ctx, diesAt);
    const at = world.now();
    await advanceDue(process.ctx, { now: () => at, isStopping: () => process.isDead() }).catch((error: unknown) => {
      if (!process.isDead()) throw error;
    });
    isDead = process.isDead();
    await world.run();
  }
  // It died at each of them.
  expect(all.length).toBeGreaterThan(60);
  expect(await world.counts(flow)).toEqual({
    go: `entered ${all.length}, passed ${all.length}`,
    rest: `entered ${all.length}, waiting ${all.length}`,
  });
  expect(await peopleOf(other.id)).toHaveLength(all.length);
  const [moved] = await queryRows<{ events: number; left: number }>(
    ctx.db,
    sql`SELECT (SELECT count(*)::int FROM hot.person_event WHERE kind = 6 AND person_id = ANY (${all}::bigint[])) AS events,
               (SELECT count(*)::int FROM consent_event WHERE source = 'move' AND subscriber_id = ANY (${all}::bigint[])) AS left`,
  );
  expect(moved).toEqual({ events: all.length, left: all.length });
});

test('a thousand people at once; the plan’s limit keeps the others back with its reason, and the list stays', async () => {
  const other = await otherList();
  const flow = await world.publish(toList('copy_to_list', other.uid));
  const ids = await subscriberPeople(ctx.db, list, 1_000);
  await givePlan(ctx.db, list.customerId, { subscriber_per_list_max: '990' });
  await world.enter(flow, ids);
  await world.run();
  expect(await peopleOf(other.id)).toHaveLength(990);
  expect(await world.counts(flow)).toMatchObject({ go: 'entered 1000, passed 990, parked 10' });
  await expect(deleteList(ctx, other.uid)).rejects.toMatchObject({ code: 'LIST_IN_USE' });
});
