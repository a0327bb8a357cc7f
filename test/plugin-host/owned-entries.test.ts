/** What Mailwright itself asks of the bus: whose entry it is, and when plugins have come or gone. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { knownHooks } from '../../src/plugin-host/known-hooks.ts';
import { faultOf, openHookWorld } from '../support/hook-world.ts';

test('entries are told with the plugin that has added them, and each change is announced once', () => {
  const { bus, live } = openHookWorld();
  let changes = 0;
  const end = bus.onChange(() => {
    changes += 1;
  });
  expect(bus.owned('acme_badges')).toEqual([]);
  live('acme/gold', (hooks) => hooks.add('acme_badges', 'gold'));
  live('acme/blue', (hooks) => hooks.add('acme_badges', 'blue'));
  expect(changes).toBe(2);
  expect(bus.owned('acme_badges')).toMatchObject([
    { plugin: 'acme/blue', value: 'blue' },
    { plugin: 'acme/gold', value: 'gold' },
  ]);
  bus.takeBack('acme/blue');
  expect(changes).toBe(3);
  expect(bus.owned('acme_badges')).toMatchObject([{ plugin: 'acme/gold' }]);
  expect(bus.owned('acme_badges')).toBe(bus.owned('acme_badges'));
  end();
  bus.takeBack('acme/gold');
  expect(changes).toBe(3);
});

test('boot gets the services of the plugin, which write to the log under its name', () => {
  const { bus, lines } = openHookWorld();
  bus.register({ name: 'acme/says', boot: (_hooks, { log }) => log.info('acme.ready', { count: 2 }) });
  bus.boot({ name: 'acme/says', boot: (_hooks, { log }) => log.info('acme.ready', { count: 2 }) });
  expect(lines).toMatchObject([{ event: 'acme.ready', plugin: 'acme/says', count: 2 }]);
});

test('an entry that is not what its hook needs is refused with a sentence, and so is a second of the same name', () => {
  const badge = z.object({ name: z.string('must be a text.') });
  const known = {
    register_sending_server_badge: { pattern: 'REGISTRY', version: 1, phase: 'boot', entry: badge, isNamed: true },
  } as const;
  const { live } = openHookWorld({ ...knownHooks, ...known });
  const add = (...entries: object[]) =>
    faultOf(() =>
      live('acme/adds', (hooks) => entries.forEach((entry) => hooks.add('register_sending_server_badge', entry))),
    );
  expect(add({ name: 7 })).toEqual({
    ...{ name: 'HookError', code: 'INVALID_ENTRY' },
    message:
      'Plugin "acme/adds" adds to the hook "register_sending_server_badge" what cannot be used: name: must be a text.',
  });
  const { live: again } = openHookWorld({ ...knownHooks, ...known });
  const twice = faultOf(() =>
    again('acme/twice', (hooks) => [1, 2].forEach(() => hooks.add('register_sending_server_badge', { name: 'gold' }))),
  );
  expect(twice.message).toContain('it has two of the name "gold"');
});

test('a function of an entry is called contained: what it throws, or that it is late, is counted', async () => {
  const { bus } = openHookWorld();
  const callee = { plugin: 'acme/gold', hook: 'acme_badges' };
  expect(await bus.callContained(callee, () => 7, 1_000)).toBe(7);
  await expect(bus.callContained(callee, () => Promise.reject(new Error('no')), 1_000)).rejects.toThrow('no');
  const late = new Promise<number>(() => undefined);
  await expect(bus.callContained(callee, () => late, 10)).rejects.toThrow('It did not end within 0.01 seconds.');
  expect(bus.faults.take()).toEqual([{ ...callee, failed: 1, late: 1 }]);
});
