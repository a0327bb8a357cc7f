/** Subscribers over REST: strangers and hostile input. Every slot, every parameter; never a 500, nothing changes. */
import { expect, test } from 'vitest';
import { startSubscriberWorld } from '../support/subscriber-world.ts';

const { app, stranger, list, as, newList, address, add, twin } = await startSubscriberWorld();

const SLOTTED = [
  ['GET', '/subscribers/:id'],
  ['PATCH', '/subscribers/:id'],
  ['DELETE', '/subscribers/:id'],
  ['POST', '/subscribers/:id/add-tag'],
  ['POST', '/subscribers/:id/remove-tag'],
  ['PATCH', '/subscribers/:id/subscribe'],
  ['PATCH', '/subscribers/:id/unsubscribe'],
  ['GET', '/lists/:list/subscribers/:id'],
  ['PATCH', '/lists/:list/subscribers/:id/update'],
  ['PATCH', '/lists/:list/subscribers/:id/subscribe'],
  ['PATCH', '/lists/:list/subscribers/:id/unsubscribe'],
  ['DELETE', '/lists/:list/subscribers/:id/delete'],
] as const;

test.each(SLOTTED)('%s %s: 401, 403 and 404 as the table says, and nothing changes', async (method, pattern) => {
  const EMAIL = address();
  const { uid, id } = await add({ EMAIL });
  const path = (slot: string, listUid = list) => pattern.replace(':list', listUid).replace(':id', slot);
  const body = method === 'GET' || method === 'DELETE' ? undefined : { tag: 'x', FIRST_NAME: 'Mine' };
  expect((await app.rest(path(uid), { ...as(method, body), token: null })).status).toBe(401);
  for (const slot of [uid, id]) expect((await app.rest(path(slot), as(method, body, stranger.token))).status).toBe(403);
  const theirs = await newList({}, stranger.token);
  for (const slot of [uid, id])
    if (pattern.includes(':list'))
      expect((await app.rest(path(slot, theirs), as(method, body, stranger.token))).status).toBe(403);
  expect((await app.rest(path(EMAIL), as(method, body, stranger.token))).status).toBe(
    pattern.includes(':list') ? 403 : 404,
  );
  for (const slot of ['0123456789abc', 'nobody@x.co', '%00', 'x'.repeat(3_000), '%27%20OR%201%3D1', '..%2f..']) {
    expect([404, 422]).toContain((await app.rest(path(slot), as(method, body))).status);
  }
  // Decision D95: which integers are in use is nobody's business.
  for (const slot of ['0', '99999999999']) expect((await app.rest(path(slot), as(method, body))).status).toBe(403);
  expect(await twin(uid)).toMatchObject({
    email: EMAIL,
    status: 'subscribed',
    tags: [],
    fieldValues: { FIRST_NAME: null },
  });
});

test('hostile values of every parameter: never a 500, and no row that was not meant', async () => {
  const values = [
    '',
    null,
    [],
    {},
    [1, {}],
    7,
    true,
    'a\r\nBcc: x@y.co',
    'x'.repeat(1_000_000),
    '\u0000',
    '\u2028',
    "'; DROP TABLE subscriber; --",
  ];
  const { uid } = await add();
  for (const name of [
    'EMAIL',
    'FIRST_NAME',
    'tag',
    'status',
    'list_uid',
    'A'.repeat(300),
    'CONSTRUCTOR',
    '__PROTO__',
  ]) {
    for (const value of values) {
      const answers = [
        await app.rest('/subscribers', as('POST', { list_uid: list, EMAIL: address(), [name]: value })),
        await app.rest(`/lists/${list}/subscribers/${uid}/update`, as('PATCH', { [name]: value })),
        await app.rest(`/subscribers/${uid}/add-tag`, as('POST', { tag: 'a', [name]: value })),
      ];
      for (const { status, body } of answers) {
        expect([200, 201, 404, 422]).toContain(status);
        if (status >= 400) expect(body).toMatchObject({ message: expect.stringMatching(/./) });
      }
    }
  }
  expect(app.logged.filter((line) => line.includes('defect'))).toEqual([]);
});
