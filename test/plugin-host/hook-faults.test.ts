/** Faults of a plugin's code when a hook is called: they stay its own. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FilterHooks } from '../../src/plugin-api/index.ts';
import { CUSTOMER, openHookWorld } from '../support/hook-world.ts';

let { bus, lines, live } = openHookWorld();
beforeEach(() => void ({ bus, lines, live } = openHookWorld()));
afterEach(() => void vi.useRealTimers());

const faulty: Record<string, () => unknown> = {
  'an error': () => {
    throw new Error('broken by a@example.com');
  },
  'a text': () => {
    // oxlint-disable-next-line typescript/only-throw-error
    throw 'just words';
  },
  'what has no text': () => {
    throw Object.create(null);
  },
  'a rejection': () => Promise.reject(new Error('late no')),
  'a promise that is none': () =>
    // oxlint-disable-next-line unicorn/no-thenable -- the mistake that is tested
    Object.defineProperty({}, 'then', {
      get(): unknown {
        throw new Error('no then');
      },
    }),
  'a promise whose then throws': () =>
    Object.assign(Promise.resolve(), {
      // oxlint-disable-next-line unicorn/no-thenable -- the mistake that is tested
      then(): void {
        throw new Error('no then');
      },
    }),
};

test.each(Object.keys(faulty))('a listener with %s is named, counted, and stops nobody', async (kind) => {
  const seen: unknown[] = [];
  live('a/faulty', (hooks) => hooks.on('customer_added', () => faulty[kind]?.() as void));
  live('b/sound', (hooks) => hooks.on('customer_added', ({ uid }) => void seen.push(uid)));
  await bus.fire('customer_added', CUSTOMER);
  expect(seen).toEqual(['c7']);
  expect(lines).toMatchObject([
    { level: 'error', event: 'hook.listener_failed', plugin: 'a/faulty', hook: 'customer_added' },
  ]);
  expect(bus.faults.take()).toEqual([{ plugin: 'a/faulty', hook: 'customer_added', failed: 1, late: 0 }]);
});

test('a listener that never ends is cut off after five seconds; what it throws later is its own', async () => {
  vi.useFakeTimers();
  const seen: string[] = [];
  const hanging = Promise.withResolvers<void>();
  live('a/hangs', (hooks) => hooks.on('acme_scored', () => hanging.promise));
  live('b/sound', (hooks) => hooks.on('acme_scored', () => void seen.push('sound')));
  const fired = bus.fire('acme_scored', 1, []);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(seen).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(seen).toEqual(['sound']);
  await fired;
  expect(lines).toMatchObject([{ event: 'hook.listener_late', plugin: 'a/hangs', isCutOff: true }]);
  hanging.reject(new Error('after all'));
  await vi.advanceTimersByTimeAsync(0);
  expect(bus.faults.take()).toEqual([{ plugin: 'a/hangs', hook: 'acme_scored', failed: 1, late: 1 }]);
});

test('while a call of a listener hangs, its next ones hold up the others for a quarter of a second only', async () => {
  vi.useFakeTimers();
  const seen: number[] = [];
  const hanging = Promise.withResolvers<void>();
  live('a/hangs', (hooks) => hooks.on('acme_scored', (score) => (score < 3 ? hanging.promise : undefined)));
  live('b/sound', (hooks) => hooks.on('acme_scored', (score) => void seen.push(score)));
  const first = bus.fire('acme_scored', 1, []);
  await vi.advanceTimersByTimeAsync(5_000);
  await first;
  const second = bus.fire('acme_scored', 2, []);
  await vi.advanceTimersByTimeAsync(249);
  expect(seen).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  await second;
  expect(seen).toEqual([1, 2]);
  hanging.resolve();
  await bus.fire('acme_scored', 3, []);
  expect(seen).toEqual([1, 2, 3]);
  expect(bus.faults.take()).toEqual([{ plugin: 'a/hangs', hook: 'acme_scored', failed: 0, late: 2 }]);
});

test('a listener that ends in time leaves no timer', async () => {
  vi.useFakeTimers();
  live('a/quick', (hooks) => hooks.on('acme_scored', async () => undefined));
  await bus.fire('acme_scored', 1, []);
  expect([vi.getTimerCount(), bus.faults.take()]).toEqual([0, []]);
});

test('a synchronous one that takes over 250 ms is counted, and its result is used', () => {
  vi.useFakeTimers();
  live('a/slow', (hooks) =>
    hooks.modify('acme_text', (text) => {
      vi.advanceTimersByTime(text === 'long' ? 251 : 250);
      return `${text}!`;
    }),
  );
  expect([bus.filter('acme_text', 'short'), bus.faults.take()]).toEqual(['short!', []]);
  expect(bus.filter('acme_text', 'long')).toBe('long!');
  expect(lines).toMatchObject([
    {
      level: 'warn',
      event: 'hook.listener_late',
      plugin: 'a/slow',
      hook: 'acme_text',
      milliseconds: 251,
      isCutOff: false,
    },
  ]);
  expect(bus.faults.take()).toEqual([{ plugin: 'a/slow', hook: 'acme_text', failed: 0, late: 1 }]);
});

test.each<[string, (words: readonly string[]) => unknown]>([
  [
    'throws',
    () => {
      throw new Error('no');
    },
  ],
  ['returns nothing', () => undefined],
  ['returns null', () => null],
  ['returns a promise', async (words) => words],
  // It must not be an unhandled rejection, which would end the process.
  ['returns a promise that rejects', () => Promise.reject(new Error('no'))],
  ['returns an object for a list', (words) => ({ ...words })],
  ['returns a text for a list', () => 'words'],
])('a FILTER callback that %s changes nothing', (_, faultyCallback) => {
  live('a/first', (hooks) => hooks.modify('acme_words', (words) => [...words, 'a']));
  live('b/faulty', (hooks) =>
    hooks.modify('acme_words', faultyCallback as (words: FilterHooks['acme_words']) => FilterHooks['acme_words']),
  );
  live('c/last', (hooks) => hooks.modify('acme_words', (words) => [...words, 'c']));
  expect(bus.filter('acme_words', ['0'])).toEqual(['0', 'a', 'c']);
  expect(lines).toMatchObject([{ event: 'hook.listener_failed', plugin: 'b/faulty', hook: 'acme_words' }]);
  expect(bus.faults.take()).toEqual([{ plugin: 'b/faulty', hook: 'acme_words', failed: 1, late: 0 }]);
});

test.each<[string, () => unknown]>([
  ['null', () => null],
  ['a promise', async () => ({ color: 'red' })],
  ['a list', () => [{ color: 'red' }]],
  [
    'what cannot be read',
    () => ({
      get color(): string {
        throw new Error('no color');
      },
    }),
  ],
])('a FILTER callback that returns %s for an object changes nothing', (_, callback) => {
  live('a/faulty', (hooks) => hooks.modify('acme_style', callback as () => FilterHooks['acme_style']));
  expect(bus.filter('acme_style', { color: 'blue' })).toEqual({ color: 'blue' });
  expect(bus.faults.take()).toMatchObject([{ plugin: 'a/faulty', failed: 1 }]);
});

test('a plugin that changes what it is given changes it for nobody', async () => {
  const seen: unknown[] = [];
  live('a/vandal', (hooks) => {
    hooks.on('acme_scored', (_score, tags) => void tags.push('stray'));
    hooks.on('customer_added', (customer) => void Object.assign(customer, { uid: 'stray' }));
    hooks.modify('sidebar-menu-items', (items) => {
      for (const item of items) Object.assign(item, { label: 'stray' });
      return items;
    });
  });
  live('b/sound', (hooks) => {
    hooks.on('acme_scored', (_score, tags) => void seen.push(tags));
    hooks.on('customer_added', ({ uid }) => void seen.push(uid));
  });
  const tags = ['x'];
  await bus.fire('acme_scored', 1, tags);
  await bus.fire('customer_added', { ...CUSTOMER });
  const items = bus.filter('sidebar-menu-items', [{ label: 'Lists', href: '/lists' }]);
  expect([seen, tags, items]).toEqual([[['x'], 'c7'], ['x'], [{ label: 'Lists', href: '/lists' }]]);
  expect(bus.faults.take().map(({ hook, failed }) => [hook, failed])).toEqual([
    ['acme_scored', 1],
    ['customer_added', 1],
    ['sidebar-menu-items', 1],
  ]);
});

test('a BEHAVIOR that fails rejects with the plugin’s name and the cause', async () => {
  const cause = new Error('the vendor is away');
  live('a/fails', (hooks) => hooks.set('acme_price', () => Promise.reject(cause)));
  await expect(bus.perform('acme_price', 1)).rejects.toMatchObject({
    ...{ code: 'BEHAVIOR_FAILED', cause },
    message: 'Plugin "a/fails" failed to perform "acme_price": the vendor is away',
  });
  bus.takeBack('a/fails');
  live('b/throws', (hooks) =>
    hooks.set('acme_price', () => {
      throw cause;
    }),
  );
  await expect(bus.perform('acme_price', 1)).rejects.toMatchObject({ code: 'BEHAVIOR_FAILED' });
});

test('a BEHAVIOR that never ends is cut off after a minute; its faults are counted', async () => {
  vi.useFakeTimers();
  live('a/hangs', (hooks) => hooks.set('acme_price', () => Promise.withResolvers<number>().promise));
  const performed = bus.perform('acme_price', 1).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await performed).toMatchObject({
    ...{ code: 'BEHAVIOR_FAILED' },
    message: 'Plugin "a/hangs" failed to perform "acme_price": It did not end within 60 seconds.',
  });
  expect(bus.faults.take()).toEqual([{ plugin: 'a/hangs', hook: 'acme_price', failed: 0, late: 1 }]);
  bus.takeBack('a/hangs');
  live('b/fails', (hooks) => hooks.set('acme_price', () => Promise.reject(new Error('no'))));
  // What earlier tests have left in this process may have begun timers meanwhile.
  const before = vi.getTimerCount();
  await expect(bus.perform('acme_price', 1)).rejects.toMatchObject({ code: 'BEHAVIOR_FAILED' });
  expect([bus.faults.take(), vi.getTimerCount()]).toEqual([
    [{ plugin: 'b/fails', hook: 'acme_price', failed: 1, late: 0 }],
    before,
  ]);
});
