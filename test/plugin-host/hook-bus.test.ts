/** The hook bus: the four patterns, how entries take effect together, and their order. */
import { beforeEach, describe, expect, test } from 'vitest';
import { definePlugin, type HookRegistration, type Plugin } from '../../src/plugin-api/index.ts';
import { faultOf, openHookWorld } from '../support/hook-world.ts';
import { withHooks } from '../support/with-hooks.ts';

let { bus, live } = openHookWorld();
beforeEach(() => void ({ bus, live } = openHookWorld()));

describe('the four patterns', () => {
  test('a REGISTRY collects what every plugin adds', () => {
    expect(bus.collect('acme_badges')).toEqual([]);
    live('b/two', (hooks) => hooks.add('acme_badges', 'second'));
    live('a/one', (hooks) => {
      hooks.add('acme_badges', 'first');
      hooks.add('acme_badges', 'also');
    });
    expect(bus.collect('acme_badges')).toEqual(['first', 'also', 'second']);
    expect(faultOf(() => (bus.collect('acme_badges') as string[]).push('stray'))).toHaveProperty('message');
  });

  test('an EVENT reaches every listener, one after the other', async () => {
    const seen: string[] = [];
    await bus.fire('acme_scored', 1, []);
    live('a/slow', (hooks) =>
      hooks.on('acme_scored', async (score) => {
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(`slow ${score}`);
      }),
    );
    live('b/fast', (hooks) => hooks.on('acme_scored', (score, tags) => void seen.push(`fast ${score} ${tags.length}`)));
    await bus.fire('acme_scored', 5, ['x']);
    expect(seen).toEqual(['slow 5', 'fast 5 1']);
  });

  test('a FILTER passes the value from callback to callback', () => {
    expect(bus.filter('acme_text', 'a')).toBe('a');
    live('a/one', (hooks) => hooks.modify('acme_text', (text) => `${text}b`));
    live('b/two', (hooks) => hooks.modify('acme_text', (text) => `${text}c`));
    expect(bus.filter('acme_text', 'a')).toBe('abc');
  });

  test('a BEHAVIOR is performed by one plugin', async () => {
    expect(bus.performer('acme_price')).toBeUndefined();
    await expect(bus.perform('acme_price', 3)).rejects.toMatchObject({ code: 'NOBODY_PERFORMS' });
    live('a/double', (hooks) => hooks.set('acme_price', (amount) => amount * 2));
    expect(bus.performer('acme_price')).toBe('a/double');
    expect(await bus.perform('acme_price', 3)).toBe(6);
  });

  test('what is set wins over setIfEmpty, of which the first by name counts', async () => {
    live('c/late', (hooks) => hooks.setIfEmpty('acme_price', () => 3));
    live('b/early', (hooks) => hooks.setIfEmpty('acme_price', () => 2));
    expect(await bus.perform('acme_price', 0)).toBe(2);
    live('d/real', (hooks) => hooks.set('acme_price', () => 4));
    expect(await bus.perform('acme_price', 0)).toBe(4);
    live('a/never', (hooks) => hooks.setIfEmpty('acme_price', () => 1));
    expect(await bus.perform('acme_price', 0)).toBe(4);
    bus.takeBack('d/real');
    expect(await bus.perform('acme_price', 0)).toBe(1);
  });

  test('a second claim throws at once and names both plugins, also before either is live', () => {
    const claim = (name: string) =>
      definePlugin({ name, boot: (hooks) => hooks.set('dispatch_list_import_job', () => undefined) });
    for (const name of ['a/one', 'b/two']) bus.register(claim(name));
    bus.boot(claim('a/one'));
    const fault = faultOf(() => bus.boot(claim('b/two')));
    expect(fault).toMatchObject({ code: 'ALREADY_SET', message: expect.stringMatching(/"b\/two".*"a\/one"/) });
    bus.goLive('a/one', 'b/two');
    expect(bus.performer('dispatch_list_import_job')).toBe('a/one');
    bus.takeBack('a/one');
    bus.boot(claim('b/two'));
    bus.takeBack('b/two');
    const twice = definePlugin({
      name: 'c/three',
      boot(hooks) {
        hooks.set('dispatch_list_import_job', () => undefined);
        hooks.set('dispatch_list_import_job', () => undefined);
      },
    });
    bus.register(twice);
    expect(faultOf(() => bus.boot(twice))).toMatchObject({ code: 'ALREADY_SET' });
  });
});

describe('going live', () => {
  const plugin = definePlugin({
    name: 'acme/badge',
    register: (hooks) => hooks.add('register_sending_server_icons', 'icon'),
    boot(hooks) {
      hooks.add('acme_badges', 'gold');
      hooks.modify('acme_text', (text) => `${text}!`);
    },
  });
  const state = () => [
    ...bus.collect('register_sending_server_icons'),
    ...bus.collect('acme_badges'),
    bus.filter('acme_text', 'hi'),
  ];

  test('all entries of a plugin have an effect together, and are taken back together', () => {
    bus.register(plugin);
    bus.boot(plugin);
    expect(state()).toEqual(['hi']);
    bus.goLive('acme/badge');
    expect(state()).toEqual(['icon', 'gold', 'hi!']);
    bus.takeBack('acme/badge');
    expect(state()).toEqual(['hi']);
    // The next activation runs `boot` again; what `register` prepared is still there.
    bus.boot(plugin);
    bus.goLive('acme/badge');
    expect(state()).toEqual(['icon', 'gold', 'hi!']);
    bus.remove('acme/badge');
    expect(state()).toEqual(['hi']);
    expect(() => bus.goLive('acme/badge')).toThrow('not registered');
    bus.register(plugin);
  });

  test('a call that began before ends on what was live then', async () => {
    const seen: string[] = [];
    live('a/first', (hooks) =>
      hooks.on('acme_scored', async () => {
        bus.takeBack('b/second');
        live('c/third', (inner) => inner.on('acme_scored', () => void seen.push('third')));
        await Promise.resolve();
        seen.push('first');
      }),
    );
    live('b/second', (hooks) => hooks.on('acme_scored', () => void seen.push('second')));
    await bus.fire('acme_scored', 1, []);
    expect(seen).toEqual(['first', 'second']);
  });

  test.each(['register', 'boot'] as const)('a %s that throws leaves nothing', (phase) => {
    const faulty = definePlugin({
      name: 'acme/faulty',
      declares: { acme_faulty: { pattern: 'EVENT' } },
      [phase](hooks: HookRegistration) {
        if (phase === 'register') hooks.add('register_sending_server_icons', 'half');
        else hooks.add('acme_badges', 'half');
        throw new Error('no');
      },
    });
    const start = () => {
      bus.register(faulty);
      bus.boot(faulty);
    };
    expect(faultOf(start)).toMatchObject({ message: 'no' });
    if (phase === 'boot') bus.goLive('acme/faulty');
    expect(state()).toEqual(['hi']);
    if (phase === 'register') {
      // Its name and the names that it declared are free again.
      expect(
        faultOf(() => live('b/user', (hooks) => hooks.on('acme_faulty' as 'acme_scored', () => undefined))),
      ).toMatchObject({ code: 'UNKNOWN_HOOK' });
      bus.register({ name: 'acme/faulty' });
    }
  });

  test('two plugins of one name are refused', () => {
    bus.register({ name: 'acme/twin' });
    expect(faultOf(() => bus.register({ name: 'acme/twin' }))).toMatchObject({ code: 'NAME_TAKEN' });
  });

  test('hooks are registered while a phase runs, and not later', async () => {
    let kept: HookRegistration | undefined;
    live('a/late', (hooks) => {
      kept = hooks;
    });
    expect(faultOf(() => kept?.add('acme_badges', 'late'))).toMatchObject({ code: 'REGISTRATION_CLOSED' });
    const asynchronous = definePlugin({
      name: 'a/async',
      // oxlint-disable-next-line typescript/no-misused-promises -- the mistake that is tested
      async boot(hooks) {
        await Promise.resolve();
        hooks.add('acme_badges', 'late');
      },
    });
    bus.register(asynchronous);
    expect(faultOf(() => bus.boot(asynchronous))).toMatchObject({ code: 'ASYNCHRONOUS' });
    await new Promise((resolve) => setImmediate(resolve));
    bus.goLive('a/async');
    expect(bus.collect('acme_badges')).toEqual([]);
  });
});

describe('order', () => {
  const word = (name: string, order?: { before?: string[]; after?: string[]; priority?: number }) =>
    definePlugin({ name, boot: (hooks) => hooks.modify('acme_words', (words) => [...words, name], order) });

  function orderOf(...plugins: Plugin[]): readonly string[] {
    ({ bus } = openHookWorld());
    for (const plugin of plugins) withHooks(bus, plugin);
    return bus.filter('acme_words', []);
  }

  test.each([
    ['by name', [word('b/b'), word('a/a'), word('c/c')], ['a/a', 'b/b', 'c/c']],
    [
      'the smaller priority first',
      [word('a/a', { priority: 1 }), word('b/b'), word('c/c', { priority: -1 })],
      ['c/c', 'b/b', 'a/a'],
    ],
    ['before', [word('a/a'), word('c/c', { before: ['a/a'] }), word('b/b')], ['b/b', 'c/c', 'a/a']],
    ['after', [word('a/a', { after: ['c/c'] }), word('c/c'), word('b/b')], ['b/b', 'c/c', 'a/a']],
    [
      'before is stronger than priority',
      [word('a/a', { priority: -9 }), word('b/b', { priority: 9, before: ['a/a'] })],
      ['b/b', 'a/a'],
    ],
    [
      'an absent plugin does not matter',
      [word('a/a', { after: ['z/absent'] }), word('b/b', { before: ['y/absent'] })],
      ['a/a', 'b/b'],
    ],
  ])('%s, whichever plugin goes live first', (_, plugins, expected) => {
    expect(orderOf(...plugins)).toEqual(expected);
    expect(orderOf(...plugins.toReversed())).toEqual(expected);
  });

  test('a circle is an error that names its plugins, and nothing changes', () => {
    const fault = faultOf(() =>
      orderOf(
        word('a/a', { before: ['b/b'] }),
        word('b/b', { before: ['c/c'] }),
        word('d/d', { after: ['c/c'] }),
        word('c/c', { before: ['a/a'] }),
      ),
    );
    expect(fault).toMatchObject({
      code: 'ORDER_CYCLE',
      message: expect.stringContaining(
        '"acme_words" contradicts itself: "a/a" before "b/b" before "c/c" before "a/a".',
      ),
    });
    expect(fault.message).not.toContain('d/d');
    expect(bus.filter('acme_words', [])).toEqual(['a/a', 'b/b', 'd/d']);
  });

  test('what a plugin changes after it has registered has no effect', () => {
    const before: string[] = [];
    expect(orderOf(word('a/a'), word('b/b', { before }))).toEqual(['a/a', 'b/b']);
    before.push('a/a');
    withHooks(bus, word('c/c'));
    expect(bus.filter('acme_words', [])).toEqual(['a/a', 'b/b', 'c/c']);
  });

  test('a priority that is no number is refused', () => {
    expect(faultOf(() => orderOf(word('a/a', { priority: Number.NaN })))).toMatchObject({ code: 'INVALID_ORDER' });
  });
});
