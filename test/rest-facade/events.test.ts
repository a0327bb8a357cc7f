/** `POST /events`: what people did elsewhere, one at a time or a thousand with an answer for each. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const [world, other] = [await newWorld(app, {}), await newWorld(app, {})];

const send = (body: object, token = world.token) => app.rest('/events', { method: 'POST', token, body });

async function recorded(customerId: bigint) {
  return queryRows<{ name: string; data: unknown; starts: boolean; at: Date }>(
    app.ctx.db,
    sql`SELECT name, data, starts_flows AS starts, at FROM hot.person_event WHERE customer_id = ${customerId} AND kind = 11 ORDER BY id`,
  );
}

test('one event is recorded with its payload, and a wrong one is refused', async () => {
  const person = { subscriber_uid: world.subscriberUid };
  const { status, body } = await send({ ...person, name: 'order_placed', key: 'c1', payload: { total: 12.5 } });
  expect({ status, body }).toMatchObject({ status: 201, body: { recorded: 1, events: [{ recorded: true }] } });
  expect(await recorded(world.customerId)).toMatchObject([
    { name: 'order_placed', data: { key: 'c1', total: 12.5 }, starts: true },
  ]);
  expect((await send({ ...person, name: 'Order placed' })).status).toBe(422);
  expect((await send({ ...person })).status).toBe(422);
  expect((await send({ subscriber_uid: other.subscriberUid, name: 'order_placed' })).status).toBe(404);
  expect((await send({ ...person, name: 'big', payload: { text: 'x'.repeat(64 * 1024) } })).status).toBe(422);
  expect(await recorded(world.customerId)).toHaveLength(1);
  expect(await recorded(other.customerId)).toEqual([]);
});

test('a batch is answered row by row, and what is long past starts nothing', async () => {
  const person = { subscriber_uid: world.subscriberUid };
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const { status, body } = await send({
    events: [
      { ...person, name: 'seen', occurred_at: daysAgo(2) },
      { ...person, name: 'seen', occurred_at: daysAgo(400) },
      { ...person, name: 'seen', occurred_at: daysAgo(-1) },
      { email: 'nobody@person.example', name: 'seen' },
      { ...person, list_uid: other.listUid, name: 'seen' },
      'no object',
      { ...person, name: 'seen.again' },
    ],
  });
  expect(status).toBe(201);
  expect(body).toMatchObject({ recorded: 2, message: '2 of 7 events are recorded' });
  expect(body).toHaveProperty('events.1.message', 'occurred_at: The time must not be more than 366 days ago.');
  expect((body as { events: { code: string | null }[] }).events.map(({ code }) => code)).toEqual([
    ...[null, 'EVENT_INVALID', 'EVENT_INVALID', 'SUBSCRIBER_NOT_FOUND', 'LIST_NOT_FOUND', 'EVENT_INVALID', null],
  ]);
  const rows = (await recorded(world.customerId)).slice(1);
  expect(rows).toMatchObject([
    { name: 'seen', starts: false },
    { name: 'seen.again', starts: true },
  ]);
  expect((await send({ events: Array.from({ length: 1_001 }, () => ({ ...person, name: 'seen' })) })).status).toBe(422);
  expect((await send({ events: [] })).status).toBe(422);
});

test('a row of the wrong form is named and not recorded without its values, and unknown names are listed', async () => {
  const person = { subscriber_uid: world.subscriberUid };
  const before = (await recorded(world.customerId)).length;
  const { status, body } = await send({
    events: [
      { ...person, name: 'formed', payload: 'total=3' },
      { ...person, name: 'formed', payload: [1] },
      { ...person, name: 'formed', key: { id: 'c1' } },
      { ...person, name: 'formed', list_uid: [other.listUid] },
      'no object',
      { ...person, name: 'formed', payload: null, data: { total: 3 } },
    ],
  });
  expect({ status, body }).toMatchObject({ status: 201, body: { recorded: 1, ignored: ['events.5.data'] } });
  expect((body as { events: { message: string | null }[] }).events.map(({ message }) => message)).toEqual([
    'payload: The payload must be an object.',
    'payload: The payload must be an object.',
    'key: The key must be a text.',
    'list_uid: The list uid must be a text.',
    'The event must be an object.',
    null,
  ]);
  expect((await recorded(world.customerId)).slice(before)).toMatchObject([{ name: 'formed', data: null }]);
});

test('unknown names of a JSON text are listed, however many and whatever they are, and its events are recorded once', async () => {
  const event = `"subscriber_uid": "${world.subscriberUid}", "name": "listed"`;
  const before = (await recorded(world.customerId)).length;
  const half = await send({ events: String.raw`[{${event}, "\ud800": 1}]` });
  expect([half.status, half.body]).toMatchObject([201, { recorded: 1, ignored: ['events.0.\ufffd'] }]);
  const names = Array.from({ length: 300_000 }, (_, no) => `"n${no}": 1`);
  const many = await send({ events: `[{${event}, ${names.join(',')}}]` });
  expect([many.status, many.body]).toMatchObject([201, { recorded: 1 }]);
  expect(Object(many.body).ignored).toHaveLength(100);
  expect(await recorded(world.customerId)).toHaveLength(before + 2);
});

test('an event that begins a flow without the key of its entries is recorded, and the answer says that nobody enters', async () => {
  const person = { subscriber_uid: world.subscriberUid };
  const flow = {
    triggers: [{ type: 'event', name: 'cart_updated' }],
    entry: { mode: 'per_key', key: 'cart.id' },
    nodes: [{ id: 'stop', type: 'end' }],
    edges: [{ from: 'start', to: 'stop' }],
  };
  const ask = (path: string, body: object) => app.rest(path, { method: 'POST', token: world.token, body });
  const made = await ask('/automations', { list_uid: world.listUid, name: 'Cart', flow });
  const uid = String(Object(made.body).automation_uid);
  expect((await ask(`/automations/${uid}/publish`, { draft_version: 1 })).status).toBe(200);
  expect((await send({ ...person, name: 'cart_updated' })).body).toMatchObject({ events: [{ message: null }] });
  expect((await ask(`/automations/${uid}/activate`, {})).status).toBe(200);
  const { status, body } = await send({
    events: [
      { ...person, name: 'cart_updated', payload: { cart: {} } },
      { ...person, name: 'cart_updated', payload: { cart: { id: 7 } } },
      { ...person, name: 'other', payload: {} },
    ],
  });
  const message = expect.stringContaining(
    'nobody enters the automation “Cart” by it: the payload has no value at “cart.id”',
  );
  expect([status, body]).toMatchObject([
    201,
    {
      recorded: 3,
      events: [
        { recorded: true, code: null, message },
        { recorded: true, message: null },
        { recorded: true, message: null },
      ],
    },
  ]);
  // One by itself, too.
  const one = await send({ ...person, name: 'cart_updated', payload: { cart: {} } });
  expect(one.body).toMatchObject({ recorded: 1, events: [{ recorded: true, message }] });
});

test('a token needs the scope of events', async () => {
  const reader = await app.newTenant({ scopes: ['subscribers:write'] });
  expect(await send({ subscriber_uid: world.subscriberUid, name: 'seen' }, reader.token)).toMatchObject({
    status: 403,
    body: { message: 'This token does not allow that: it takes the scope `events:write`.' },
  });
});

test('over the limit of a day nothing of a call is recorded, in REST and GraphQL, and other customers go on', async () => {
  const limited = await startRestApp({}, { eventsPerDay: 3 });
  const [mine, others] = [await newWorld(limited, {}), await newWorld(limited, {})];
  const post = ({ token, subscriberUid }: typeof mine, count: number) =>
    limited.rest('/events', {
      ...{ method: 'POST', token },
      body: { events: Array.from({ length: count }, () => ({ subscriber_uid: subscriberUid, name: 'seen' })) },
    });
  expect((await post(mine, 2)).status).toBe(201);
  const refused = await post(mine, 2);
  expect([refused.status, refused.text]).toEqual([429, expect.any(String)]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused.text).toContain('You may record 3 events within 24 hours, and have recorded 2.');
  const query = `mutation ($person: String!) { recordEvents(input: { events: [{ name: "seen", subscriber: $person }, { name: "seen", subscriber: $person }] }) { ... on Error { code } } }`;
  const twin = await fetch(`${limited.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${mine.token}` },
    body: JSON.stringify({ query, variables: { person: mine.subscriberUid } }),
  });
  expect(await twin.json()).toEqual({ data: { recordEvents: { code: 'TOO_MANY_EVENTS' } } });
  expect((await post(mine, 1)).status).toBe(201);
  expect((await post(others, 3)).status).toBe(201);
});
