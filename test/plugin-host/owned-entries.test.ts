/** What Mailwright itself asks of the bus: whose entry it is, and when plugins have come or gone. */
import { expect, test } from 'vitest';
import { openHookWorld } from '../support/hook-world.ts';

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
