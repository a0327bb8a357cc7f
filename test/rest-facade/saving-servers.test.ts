/** The rule for saving a sending server (specification 4.13.4) where it is easily forgotten: changes, plans, two people at once. */
import { describe, expect, test } from 'vitest';
import { changeOptions, givePlan } from '../support/plans.ts';
import { startRestApp } from '../support/rest-app.ts';
import { errorsOf, serverCalls, uidOf } from '../support/server-calls.ts';
import { withDriver } from '../support/with-hooks.ts';

const app = await startRestApp();
const { create, patch, stored } = serverCalls(app);
const server = (settings: object, type: string) => ({ name: 'Server', type, settings });

describe('a plan’s types', () => {
  const ok = { ok: true } as const;
  withDriver(app.hooks, {
    ...{ type: 'plain', name: 'Plain', description: 'x', configKeys: ['word'], secretKeys: [] },
    validate: ({ word }) => ({ ok: true, settings: { word: String(word) } }),
    connect: () => ({
      capacity: 1,
      send: async () => ({ runtimeMessageId: 'x', reply: 'x' }),
      test: async () => ok,
      close: async () => undefined,
    }),
  });
  const plain = server({ word: 'a' }, 'plain');

  test('hold for changes, too: settings and switching on, not the name and switching off', async () => {
    const { token, customerId } = await app.newTenant();
    await givePlan(app.ctx.db, customerId, {
      ...{ sending_server_option: 'own', all_sending_server_types: 'no' },
      sending_server_types: { plain: 'yes' },
    });
    const uid = uidOf(await create(plain, { token }));
    expect((await patch(uid, { settings: { word: 'b' } }, token)).status).toBe(200);
    await changeOptions(app.ctx.db, customerId, { sending_server_types: { plain: 'no', smtp: 'yes' } });
    const refused = {
      status: 422,
      errors: { type: ['The plan allows own sending servers of these types only: smtp.'] },
    };
    expect(errorsOf(await patch(uid, { settings: { word: 'c' } }, token))).toEqual(refused);
    expect((await patch(uid, { name: 'Other', status: 'inactive' }, token)).status).toBe(200);
    expect(errorsOf(await patch(uid, { status: 'active' }, token))).toEqual(refused);
    await changeOptions(app.ctx.db, customerId, { sending_server_option: 'system' });
    expect((await patch(uid, { settings: { word: 'c' } }, token)).status).toBe(403);
    expect(await stored(uid)).toMatchObject([{ name: 'Other', status: 'inactive', settings: { word: 'b' } }]);
  });
});

describe('saving', () => {
  let hold: Promise<void> | undefined;
  let isTested: (() => void) | undefined;
  withDriver(app.hooks, {
    ...{ type: 'slow', name: 'Slow', description: 'x', configKeys: ['host', 'key'], secretKeys: ['key'] },
    validate: ({ host, key }) => ({ ok: true, settings: { host: String(host), key: String(key) } }),
    connect: ({ key }) => ({
      capacity: 1,
      send: async () => ({ runtimeMessageId: 'x', reply: 'x' }),
      test() {
        // As a plugin may that is not written with care.
        if (key === 'throws') throw new Error('The key is broken.');
        isTested?.();
        return (hold ?? Promise.resolve()).then(() => ({ ok: true as const }));
      },
      close: async () => undefined,
    }),
  });

  test('two changes at once: none is dropped in silence, the second one is told', async () => {
    const uid = uidOf(await create(server({ host: 'a', key: '1' }, 'slow')));
    const release = Promise.withResolvers<void>();
    const tested = Promise.withResolvers<void>();
    [hold, isTested] = [release.promise, tested.resolve];
    const slow = patch(uid, { settings: { host: 'b' } });
    await tested.promise;
    [hold, isTested] = [undefined, undefined];
    expect((await patch(uid, { settings: { key: '2' } })).status).toBe(200);
    const before = await stored(uid);
    release.resolve();
    expect(await slow).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('Somebody else changed') },
    });
    expect(await stored(uid)).toEqual(before);
    expect((await patch(uid, { settings: { host: 'b' } })).status).toBe(200);
  });

  test('a driver whose test throws is a `connection` error, and the old credential stays', async () => {
    const uid = uidOf(await create(server({ host: 'a', key: '1' }, 'slow')));
    const before = await stored(uid);
    expect(errorsOf(await patch(uid, { settings: { key: 'throws' } }))).toEqual({
      status: 422,
      errors: { connection: ['The key is broken.'] },
    });
    expect(await stored(uid)).toEqual(before);
  });
});
