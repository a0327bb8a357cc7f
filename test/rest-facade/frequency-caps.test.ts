/** Frequency caps of lists and of the customer over REST, the same over GraphQL: what is wrong is named, an empty one is no limit (D82). */
import { expect, test } from 'vitest';
import { LIST_BODY } from '../support/list-body.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const owner = await app.newTenant();
const stranger = await app.newTenant();
const call = (method: string, path: string, body?: object, token = owner.token) =>
  app.rest(path, { method, token, ...(body ? { body } : {}) });

async function graphql(query: string, variables: object = {}, token = owner.token): Promise<unknown> {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
}

const made = await call('POST', '/lists', { ...LIST_BODY, frequency_cap: { messages: 5, days: 7 } });
const listUid = String(field(made, 'list_uid'));

/** Where a cap is set, and what is shown there then. */
const PLACES = [
  { path: '/frequency_cap', shown: async () => field(await call('GET', '/frequency_cap'), 'frequency_cap') },
  {
    path: `/lists/${listUid}`,
    shown: async () => field(await call('GET', `/lists/${listUid}`), 'list', 'frequency_cap'),
  },
];

test('a new list has the cap that is given; days of holding are 3 unless something else is said', async () => {
  expect(made.status, made.text).toBe(201);
  expect(await PLACES[1]?.shown()).toEqual({ messages: 5, days: 7, hold_days: 3 });
  const plain = await call('POST', '/lists', LIST_BODY);
  expect(field(await call('GET', `/lists/${String(field(plain, 'list_uid'))}`), 'list', 'frequency_cap')).toBeNull();
});

test.each(PLACES)(
  '$path takes a cap, changes nothing without one, and an empty one is no limit',
  async ({ path, shown }) => {
    const answer = await call('PATCH', path, { frequency_cap: { messages: 2, days: 30, hold_days: 14 } });
    expect(answer.status, answer.text).toBe(200);
    expect(await shown()).toEqual({ messages: 2, days: 30, hold_days: 14 });
    expect((await call('PATCH', path, {})).status).toBe(200);
    expect(await shown()).toEqual({ messages: 2, days: 30, hold_days: 14 });
    const form = new URLSearchParams({ 'frequency_cap[messages]': '100', 'frequency_cap[days]': '90' });
    expect((await call('PATCH', path, form)).status).toBe(200);
    expect(await shown()).toEqual({ messages: 100, days: 90, hold_days: 3 });
    expect((await call('PATCH', path, { frequency_cap: '{"messages": 1, "days": 1}' })).status).toBe(200);
    expect(await shown()).toEqual({ messages: 1, days: 1, hold_days: 3 });
    for (const empty of ['', null]) {
      await call('PATCH', path, { frequency_cap: { messages: 1, days: 1 } });
      expect((await call('PATCH', path, { frequency_cap: empty })).status).toBe(200);
      expect(await shown(), String(empty)).toBeNull();
    }
  },
);

const NOT_NONE = [expect.stringContaining('an empty cap is no limit')];
const WRONG: readonly [cap: unknown, errors: Record<string, unknown>][] = [
  [{ messages: 0, days: 7 }, { 'frequency_cap.messages': NOT_NONE }],
  [
    { messages: -1, days: 0 },
    { 'frequency_cap.messages': NOT_NONE, 'frequency_cap.days': NOT_NONE },
  ],
  [
    { messages: 101, days: 91 },
    { 'frequency_cap.messages': [expect.anything()], 'frequency_cap.days': [expect.anything()] },
  ],
  [{ messages: 1 }, { 'frequency_cap.days': NOT_NONE }],
  [{ messages: 1, days: 1, hold_days: 0 }, { 'frequency_cap.hold_days': [expect.anything()] }],
  [{ messages: 1, days: 1, hold_days: 15 }, { 'frequency_cap.hold_days': [expect.anything()] }],
  [
    { messages: 'many', days: 1.5 },
    { 'frequency_cap.messages': [expect.anything()], 'frequency_cap.days': [expect.anything()] },
  ],
  ['soon', { frequency_cap: [expect.anything()] }],
  [[1], { frequency_cap: [expect.anything()] }],
];

test.each(PLACES)('what is wrong at $path is named, and changes nothing', async ({ path, shown }) => {
  await call('PATCH', path, { frequency_cap: { messages: 4, days: 4 } });
  for (const [cap, errors] of WRONG) {
    const answer = await call('PATCH', path, { frequency_cap: cap });
    expect(answer, JSON.stringify(cap)).toMatchObject({ status: 422, body: { errors } });
  }
  expect(await shown()).toEqual({ messages: 4, days: 4, hold_days: 3 });
});

test('GraphQL reads and sets the same, and names the same faults', async () => {
  const set = `mutation ($input: SetFrequencyCapInput!) { setFrequencyCap(input: $input) {
    ... on CustomerFrequencyCap { frequencyCap { messages days holdDays } } ... on ValidationError { fields { field } } } }`;
  expect(await graphql(set, { input: { frequencyCap: { messages: 3, days: 2 } } })).toEqual({
    data: { setFrequencyCap: { frequencyCap: { messages: 3, days: 2, holdDays: 3 } } },
  });
  expect(field(await call('GET', '/frequency_cap'), 'frequency_cap')).toEqual({ messages: 3, days: 2, hold_days: 3 });
  expect(await graphql(set, { input: { frequencyCap: { messages: 0, days: 2, holdDays: 0 } } })).toEqual({
    data: { setFrequencyCap: { fields: [{ field: 'frequencyCap.messages' }, { field: 'frequencyCap.holdDays' }] } },
  });
  const read = 'query { frequencyCap { ... on CustomerFrequencyCap { frequencyCap { messages } } } }';
  expect(await graphql(read)).toEqual({ data: { frequencyCap: { frequencyCap: { messages: 3 } } } });
  // Each customer has its own.
  expect(await graphql(read, {}, stranger.token)).toEqual({ data: { frequencyCap: { frequencyCap: null } } });
  await call('PATCH', '/frequency_cap', { frequency_cap: { messages: 9, days: 9 } }, stranger.token);
  expect(await graphql(read)).toEqual({ data: { frequencyCap: { frequencyCap: { messages: 3 } } } });
  const list = `mutation ($uid: String!, $input: UpdateListInput!) { updateList(uid: $uid, input: $input) {
    ... on MailList { frequencyCap { messages days holdDays } } } }`;
  expect(await graphql(list, { uid: listUid, input: { frequencyCap: { messages: 7, days: 7, holdDays: 1 } } })).toEqual(
    {
      data: { updateList: { frequencyCap: { messages: 7, days: 7, holdDays: 1 } } },
    },
  );
});
