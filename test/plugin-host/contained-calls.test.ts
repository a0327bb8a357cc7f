/** What Mailwright calls functions of plugins with: their faults are named and counted, and what they start belongs to them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PluginFailed } from '../../src/plugin-host/contained-call.ts';
import { asPlugin, runningPlugin } from '../../src/plugin-host/running-plugin.ts';
import { openHookWorld } from '../support/hook-world.ts';
import { withDriver } from '../support/with-hooks.ts';

const CALLEE = { plugin: 'acme/one', hook: 'acme_badges' };

function fail(): never {
  throw new Error('no room');
}

test('a function that fails is named and counted, and its caller is told or gets nothing', async () => {
  const { bus, lines } = openHookWorld();
  const { contained } = bus;
  expect(contained.call(CALLEE, () => 5)).toBe(5);
  expect(contained.call(CALLEE, fail)).toBeUndefined();
  expect(contained.callOrThrow(CALLEE, () => 5)).toBe(5);
  expect(() => contained.callOrThrow(CALLEE, fail)).toThrow('Plugin "acme/one" failed in "acme_badges": no room');
  expect(await contained.run(CALLEE, async () => 5, { timeoutMs: 1_000 })).toBe(5);
  for (const act of [fail, async () => fail()])
    await expect(contained.run(CALLEE, act, { timeoutMs: 1_000 })).rejects.toThrow(PluginFailed);
  expect(bus.faults.take()).toEqual([{ ...CALLEE, failed: 4, late: 0 }]);
  expect(lines[0]).toMatchObject({ ...CALLEE, event: 'hook.listener_failed', message: 'no room' });
});

test('a result that does not come is not waited for', async () => {
  const { bus } = openHookWorld();
  const never = bus.contained.run(CALLEE, () => new Promise<never>(() => undefined), { timeoutMs: 20 });
  await expect(never).rejects.toThrow('did not end within 0.02 seconds');
  expect(bus.faults.take()).toEqual([{ ...CALLEE, failed: 0, late: 1 }]);
});

test('what a plugin starts belongs to it; its caller does not', async () => {
  const seen: (string | undefined)[] = [];
  const note = (): void => void seen.push(runningPlugin());
  await asPlugin('acme/one', async () => {
    note();
    asPlugin('acme/two', () => setTimeout(note, 1));
    note();
    await sleep(20);
    note();
  });
  note();
  expect(seen).toEqual(['acme/one', 'acme/one', 'acme/two', 'acme/one', undefined]);
});

test('a driver runs as its plugin, and what it throws goes to its caller', async () => {
  const { bus } = openHookWorld();
  const seen: (string | undefined)[] = [];
  const note = (): void => void seen.push(runningPlugin());
  const plugin = withDriver(bus, {
    ...{ type: 'test', name: 'Test', description: '', configKeys: [], secretKeys: [] },
    validate: (settings) => {
      note();
      return { ok: true, settings: { of: Object.keys(settings).length } };
    },
    connect: () => ({
      capacity: 3,
      async send() {
        await sleep(1);
        note();
        throw new Error('refused');
      },
      test: async () => ({ ok: true }),
      close: async () => note(),
    }),
  });
  const [registration] = bus.collect('register_sending_server_driver');
  expect(registration?.validate({ a: 1 })).toEqual({ ok: true, settings: { of: 1 } });
  const driver = registration?.connect({}, { connectionsMax: 1, clientName: 'x', replyTimeoutMs: 1 });
  expect(driver?.capacity).toBe(3);
  const message = { messageId: '', idempotencyKey: '', content: new Uint8Array(), needsSmtpUtf8: false };
  await expect(driver?.send({ ...message, envelope: { from: '', to: '' } })).rejects.toThrow(/^refused$/);
  await driver?.close();
  expect(seen).toEqual([plugin, plugin, plugin]);
});
