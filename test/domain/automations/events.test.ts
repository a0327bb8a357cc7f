/** What happens to people lets them into flows, ends their waits and takes them out, each event once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { followFlow } from '../../../src/domain/automations/events/follow-flow.ts';
import { followPeople, type Following } from '../../../src/domain/automations/events/follow-people.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { recordPersonEvents, type NewPersonEvent } from '../../../src/events/person-event-store.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { startFlowWorld } from '../../support/flow-world.ts';

const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
await addListField(ctx, list.uid, { type: 'text', label: 'Level', tag: 'LEVEL' });

const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const rest = { id: 'rest', type: 'wait', for: { days: 1 } };
const HOUR_MS = 3_600_000;

const change = (personId: bigint, more: object) =>
  updateSubscriber(ctx, { subscriber: subscriberUid(personId), listUid: list.uid, ...more });
const happens = (...events: Partial<NewPersonEvent>[]) =>
  recordPersonEvents(
    ctx.db,
    { customerId: list.customerId, listId: list.id },
    events.map((event) => ({ personId: 0n, kind: 'event', at: new Date(), ...event })),
  );
const later = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString();

/** A flow that is stopped again at the end of its test. */
async function withFlow(flow: object, play: (published: Awaited<ReturnType<typeof world.publish>>) => Promise<void>) {
  const published = await world.publish(flow);
  await play(published);
  await setAutomationStatus(ctx, published.uid, 'inactive');
}

async function positionOf({ automationId }: { readonly automationId: bigint }): Promise<bigint | undefined> {
  const [row] = await queryRows<{ position: bigint }>(
    ctx.db,
    sql`SELECT position FROM hot.flow_follower WHERE automation_id = ${automationId}`,
  );
  return row?.position;
}

/** A process that reads what happens, with what it remembers. */
function remembering() {
  const memory: NonNullable<Following['memory']> = {};
  return { memory, follow: () => followPeople(ctx, { isStopping: () => false, memory }) };
}

test('a process that knows how far it has looked finds what happens after that, and flows that are tried again', async () => {
  const [before, after] = [await world.person(), await world.person()];
  const triggers = [{ type: 'event', name: 'remembered' }];
  await withFlow({ triggers, nodes: [rest], edges: line('start', 'rest') }, async ({ key }) => {
    const { memory, follow } = remembering();
    await happens({ personId: before, name: 'remembered' });
    await follow();
    const looked = memory.upTo ?? 0n;
    expect(looked).toBeGreaterThan(0n);
    await happens({ personId: after, name: 'remembered' });
    await follow();
    expect(memory.upTo).toBeGreaterThan(looked);
    for (const person of [before, after]) expect(await world.steps(person)).toEqual(['rest entered event']);
    await ctx.db.execute(sql`UPDATE hot.flow_follower SET position = 0 WHERE automation_id = ${key.automationId}`);
    await follow();
    expect(await positionOf(key)).toBe(0n);
    await ctx.db.execute(sql`UPDATE hot.flow_follower SET retry_at = now() WHERE automation_id = ${key.automationId}`);
    await follow();
    expect(await positionOf(key)).toBeGreaterThan(0n);
  });
});

test('a flow that was tried again and read in part is read to its end, although nothing happens after that', async () => {
  const personId = await world.person();
  const triggers = [{ type: 'event', name: 'late' }];
  await withFlow({ triggers, nodes: [rest], edges: line('start', 'rest') }, async ({ key }) => {
    const { memory, follow } = remembering();
    await happens(...Array.from({ length: 1_001 }, () => ({ personId, name: 'other' })));
    await follow();
    const upTo = memory.upTo ?? 0n;
    await ctx.db.execute(
      sql`UPDATE hot.flow_follower SET position = 0, retry_at = now() WHERE automation_id = ${key.automationId}`,
    );
    // The process that does so is gone then.
    expect(await followFlow(ctx, { ...key, listId: list.id }, { upTo, now: new Date() })).toBe('some');
    await follow();
    expect(await positionOf(key)).toBe(upTo);
  });
});

test('each trigger lets in whom it is meant for, from its publication on, and imports only when asked', async () => {
  const before = await world.person({ tags: ['vip'] });
  const triggers = [
    { type: 'tag_added', tag: 'VIP', if: { field: { tag: 'LEVEL', text: { is: 'gold' } } } },
    { type: 'tag_removed', tag: 'vip' },
    { type: 'field_changed', field: 'LEVEL' },
    { type: 'event', name: 'order', where: [{ path: 'total', number: { gt: 100 } }] },
    { type: 'unsubscribed' },
  ];
  await withFlow({ triggers, nodes: [rest], edges: line('start', 'rest') }, async () => {
    const [gold, plain, field, large, small, quiet] = [
      await world.person({ tags: ['Vip'], fieldValues: { LEVEL: 'gold' } }),
      await world.person({ tags: ['vip'] }),
      await world.person(),
      await world.person(),
      await world.person(),
      await world.person(),
    ];
    await change(field, { fieldValues: { LEVEL: 'silver' } });
    await happens({ personId: large, name: 'order', data: { total: 101 } });
    await happens({ personId: small, name: 'order', data: { total: 100 } });
    await ctx.database.transaction(async (tx) => {
      await tx.execute(sql`SELECT set_config('mailwright.run_automations', 'off', true)`);
      await tx.execute(sql`UPDATE subscriber SET fields = '{"LEVEL":"x"}' WHERE id = ${quiet}`);
    });
    await ctx.db.execute(sql`UPDATE subscriber SET tags = '{}' WHERE id = ${before}`);
    await ctx.db.execute(sql`UPDATE subscriber SET status = 'unsubscribed' WHERE id = ${small}`);
    await world.follow();
    await world.follow();
    expect(await Promise.all([before, gold, plain, field, large, small, quiet].map(world.steps))).toEqual([
      ['rest entered tag_removed'],
      ['rest entered tag_added'],
      [],
      ['rest entered field_changed'],
      ['rest entered event'],
      ['rest entered unsubscribed'],
      [],
    ]);
  });
});

test('a wait ends by its event or its time, whichever is first, with the key of the entry', async () => {
  const cart = (personId: bigint, name: string, id: string) => happens({ personId, name, data: { cart: { id } } });
  const flow = {
    triggers: [{ type: 'event', name: 'cart_left' }],
    entry: { mode: 'per_key', key: 'cart.id' },
    nodes: [
      {
        id: 'order',
        type: 'wait_for_event',
        event: { type: 'event', name: 'ordered', sameKey: true },
        for: { hours: 2 },
      },
      { id: 'thanks', type: 'add_tag', tag: 'ordered' },
      { id: 'remind', type: 'add_tag', tag: 'reminded' },
    ],
    edges: [...line('start', 'order', 'thanks'), { from: 'order', port: 'timeout', to: 'remind' }],
  };
  await withFlow(flow, async (published) => {
    const person = await world.person();
    await cart(person, 'cart_left', 'a');
    await cart(person, 'cart_left', 'b');
    await world.follow();
    await world.run(later(0));
    expect(await world.counts(published)).toEqual({ order: 'entered 2, waiting 2' });
    await cart(person, 'ordered', 'b');
    await cart(person, 'ordered', 'c');
    await world.follow();
    expect(await world.counts(published)).toMatchObject({ order: 'entered 2, waiting 1, passed 1' });
    await world.run(later(3));
    // Too late: the time has won.
    await cart(person, 'ordered', 'a');
    await world.follow();
    expect(await world.counts(published)).toEqual({
      order: 'entered 2, passed 2',
      thanks: 'entered 1, passed 1',
      remind: 'entered 1, passed 1',
    });
  });
});

test('an event after the end of the wait does not end it, also when it is read before the time is', async () => {
  const event = { type: 'event', name: 'ordered' };
  const nodes = [{ id: 'order', type: 'wait_for_event', event, for: { hours: 2 } }, rest];
  const edges = [...line('start', 'order'), { from: 'order', port: 'timeout', to: 'rest' }];
  await withFlow({ triggers: [{ type: 'event', name: 'cart_left' }], nodes, edges }, async () => {
    const person = await world.person();
    await happens({ personId: person, name: 'cart_left' });
    await world.follow();
    await world.run(later(0));
    await happens({ personId: person, name: 'ordered', at: new Date(later(2.5)) });
    await world.follow();
    await world.run(later(3));
    expect(await world.steps(person)).toEqual(['order entered event', 'order passed timeout']);
  });
});

test('who arrives at a wait looks back at what happened on the way, and since the entry where that counts', async () => {
  const wait = { id: 'tag', type: 'wait_for_event', event: { type: 'tag_added', tag: 'paid' }, for: { days: 1 } };
  const nodes = [
    { id: 'pause', type: 'wait', for: { minutes: 1 } },
    { ...wait, countsFrom: 'entry' },
    { ...wait, id: 'again' },
  ];
  const flow = { triggers: [{ type: 'subscribed' }], nodes, edges: line('start', 'pause', 'tag', 'again') };
  await withFlow(flow, async (published) => {
    const person = await world.person();
    await world.follow();
    await change(person, { tags: ['paid'] });
    await world.follow();
    await world.run(later(1));
    expect(await world.counts(published)).toEqual({
      pause: 'entered 1, passed 1',
      tag: 'entered 1, passed 1',
      again: 'entered 1, waiting 1',
    });
  });
});

test('goals and exits take people out at once, by an event or by what is true of the person then', async () => {
  const flow = {
    triggers: [{ type: 'subscribed' }],
    nodes: [rest],
    edges: line('start', 'rest'),
    goals: [{ id: 'bought', event: { type: 'event', name: 'bought' } }],
    exits: [{ id: 'staff', person: { field: { tag: 'LEVEL', text: { is: 'staff' } } } }],
  };
  await withFlow(flow, async (published) => {
    const [buys, works, stays] = [await world.person(), await world.person(), await world.person()];
    // In the same batch as the entry.
    await happens({ personId: buys, name: 'bought' });
    await world.follow();
    expect(await world.steps(buys)).toEqual(['rest entered subscribed', 'rest left goal:bought']);
    await change(works, { fieldValues: { LEVEL: 'staff' } });
    await change(stays, { fieldValues: { LEVEL: 'guest' } });
    await world.follow();
    expect(await world.steps(works)).toEqual(['rest entered subscribed', 'rest left exit:staff']);
    expect(await world.counts(published)).toEqual({ rest: 'entered 3, waiting 1, left 2' });
  });
});

test('a goal counts from the event that let the person in, however early both happened and in one request, but not before', async () => {
  const goal = { type: 'event', name: 'order_placed' };
  const flow = {
    triggers: [{ type: 'event', name: 'cart_left' }],
    nodes: [rest],
    edges: line('start', 'rest'),
    goals: [{ id: 'bought', event: goal }],
  };
  const waiting = {
    ...flow,
    goals: [],
    nodes: [{ id: 'order', type: 'wait_for_event', event: goal, for: { days: 1 } }, rest],
    edges: line('start', 'order', 'rest'),
  };
  await withFlow(waiting, async (waits) => {
    await withFlow(flow, async (published) => {
      const [buys, bought, sooner] = [await world.person(), await world.person(), await world.person()];
      const at = new Date(Date.now() - HOUR_MS);
      await happens(
        { personId: bought, name: 'order_placed', at },
        ...[buys, bought, sooner].map((personId) => ({ personId, name: 'cart_left', at })),
        { personId: buys, name: 'order_placed', at },
        { personId: sooner, name: 'order_placed', at: new Date(at.getTime() - 1) },
      );
      await world.follow();
      expect(await world.counts(published)).toEqual({ rest: 'entered 3, waiting 2, left 1' });
      await world.run(later(0));
      expect(await world.counts(waits)).toEqual({
        order: 'entered 3, waiting 2, passed 1',
        rest: 'entered 1, waiting 1',
      });
    });
  });
});

test('one person enters at most 20 times a day, also by events of one batch; keys that refuse take no place', async () => {
  const flow = {
    triggers: [{ type: 'event', name: 'cart_left' }],
    entry: { mode: 'per_key', key: 'cart' },
    nodes: [rest],
    edges: line('start', 'rest'),
  };
  await withFlow(flow, async (published) => {
    const [often, seldom] = [await world.person(), await world.person()];
    const cart = (personId: bigint, no: number) => ({ personId, name: 'cart_left', data: { cart: no } });
    await happens(cart(often, 0), cart(often, 1));
    await world.follow();
    await happens(...Array.from({ length: 30 }, (_, no) => cart(often, no)), cart(seldom, 0));
    await world.follow();
    expect(await world.counts(published)).toEqual({ rest: 'entered 21, waiting 21' });
  });
});

test('a wait finds its event behind more payloads than one read takes', async () => {
  const event = { type: 'event', name: 'order', where: [{ path: 'total', number: { gt: 100 } }] };
  const nodes = [
    { id: 'pause', type: 'wait', for: { minutes: 1 } },
    { id: 'large', type: 'wait_for_event', event, countsFrom: 'entry', for: { days: 1 } },
    rest,
  ];
  const flow = { triggers: [{ type: 'subscribed' }], nodes, edges: line('start', 'pause', 'large', 'rest') };
  await withFlow(flow, async (published) => {
    const [finds, waits] = [await world.person(), await world.person()];
    await world.follow();
    const orders = (personId: bigint, n: number) =>
      Array.from({ length: n }, () => ({ personId, name: 'order', data: { total: 1 } }));
    await happens(
      ...orders(finds, 300),
      { personId: finds, name: 'order', data: { total: 101 } },
      ...orders(waits, 300),
    );
    await world.follow();
    await world.run(later(1));
    expect(await world.counts(published)).toEqual({
      pause: 'entered 2, passed 2',
      large: 'entered 2, waiting 1, passed 1',
      rest: 'entered 1, waiting 1',
    });
  });
});

test('an event ends the wait of somebody whose look back is on its way', async () => {
  const event = { type: 'event', name: 'order' };
  const nodes = [{ id: 'order', type: 'wait_for_event', event, for: { days: 1 } }, rest];
  const flow = { triggers: [{ type: 'subscribed' }], nodes, edges: line('start', 'order', 'rest') };
  await withFlow(flow, async (published) => {
    const person = await world.person();
    await world.follow();
    let followed: Promise<unknown> = Promise.resolve();
    await ctx.database.transaction(async (tx) => {
      // As the step does that has looked back and found nothing.
      await tx.execute(
        sql`UPDATE hot.flow_run SET state = 'waiting', wake_at = ${new Date(later(24))} WHERE customer_id = ${list.customerId} AND person_id = ${person}`,
      );
      await happens({ personId: person, name: 'order' });
      let hasEnded = false;
      followed = world.follow().finally(() => (hasEnded = true));
      const isHeldUp = async () =>
        (await ctx.db.execute(
          sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%hot.flow_run%'`,
        )) > 0;
      while (!hasEnded && !(await isHeldUp())) await sleep(20);
    });
    await followed;
    expect(await world.counts(published)).toEqual({ order: 'entered 1, passed 1', rest: 'entered 1, waiting 1' });
  });
});

test('another customer’s flow sees nothing of it', async () => {
  const other = await startFlowWorld(new Date().toISOString(), ctx);
  const flow = { triggers: [{ type: 'subscribed' }], nodes: [rest], edges: line('start', 'rest') };
  const published = await other.publish(flow);
  await world.person();
  const theirs = await other.person();
  await other.follow();
  expect(await other.counts(published)).toEqual({ rest: 'entered 1, waiting 1' });
  expect(await other.steps(theirs)).toEqual(['rest entered subscribed']);
  await setAutomationStatus(other.ctx, published.uid, 'inactive');
});

test('no event is lost to a late commit, nor doubled by several processes; a flow that fails holds up no other', async () => {
  const flow = { triggers: [{ type: 'event', name: 'seen' }], nodes: [rest], edges: line('start', 'rest') };
  await withFlow(flow, async (published) => {
    const broken = await world.publish(flow);
    await ctx.db.execute(sql`UPDATE automation SET live_version = 99 WHERE uid = ${broken.uid}`);
    const people = await Promise.all(Array.from({ length: 20 }, () => world.person()));
    let followed: Promise<unknown> = Promise.resolve();
    await ctx.database.transaction(async (tx) => {
      const key = { customerId: list.customerId, listId: list.id };
      await recordPersonEvents(tx, key, [{ personId: people[0] ?? 0n, kind: 'event', name: 'seen', at: new Date() }]);
      await happens(...people.slice(1).map((personId) => ({ personId, name: 'seen' })));
      followed = Promise.all(Array.from({ length: 4 }, () => world.follow()));
    });
    await followed;
    await world.follow();
    expect(await world.counts(published)).toEqual({ rest: 'entered 20, waiting 20' });
    await setAutomationStatus(ctx, broken.uid, 'inactive');
  });
});

test('who cannot get mail any more leaves by the bounce or the complaint; a soft bounce changes nothing', async () => {
  const flow = { triggers: [{ type: 'event', name: 'begun' }], nodes: [rest], edges: line('start', 'rest') };
  await withFlow(flow, async () => {
    const [hard, soft, complains] = [await world.person(), await world.person(), await world.person()];
    await happens(...[hard, soft, complains].map((personId) => ({ personId, name: 'begun' })));
    await world.follow();
    await ctx.db.execute(
      sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT customer_id, email_key, 'bounce' FROM subscriber WHERE id IN (${hard}, ${complains})`,
    );
    await happens(
      { personId: hard, kind: 'bounced', data: { type: 'hard' } },
      { personId: soft, kind: 'bounced', data: { type: 'soft' } },
      { personId: complains, kind: 'complained' },
    );
    await world.follow();
    expect(await world.steps(hard)).toEqual(['rest entered event', 'rest left suppressed']);
    expect(await world.steps(complains)).toEqual(['rest entered event', 'rest left suppressed']);
    expect(await world.steps(soft)).toEqual(['rest entered event']);
  });
});
