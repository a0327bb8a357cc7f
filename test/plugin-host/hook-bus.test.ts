/** The hook bus: how plugins register, how it takes effect, and that a plugin's faults stay its own. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { definePlugin, type FilterHooks, type HookRegistration, type Plugin } from '../../src/plugin-api/index.ts';
import { createHookBus, type HookBus } from '../../src/plugin-host/hook-bus.ts';
import { knownHooks } from '../../src/plugin-host/known-hooks.ts';
import { withHooks } from '../support/with-hooks.ts';

declare module '../../src/plugin-api/hooks.ts' {
  interface RegistryHooks {
    acme_badges: string;
  }
  interface EventHooks {
    acme_scored: [score: number, tags: string[]];
  }
  interface BehaviorHooks {
    acme_price: { args: [amount: number]; result: number };
  }
  interface FilterHooks {
    acme_words: readonly string[];
    acme_text: string;
  }
}

const DECLARES = {
  acme_badges: { pattern: 'REGISTRY' },
  acme_scored: { pattern: 'EVENT' },
  acme_price: { pattern: 'BEHAVIOR' },
  acme_words: { pattern: 'FILTER' },
  acme_text: { pattern: 'FILTER' },
} as const;

const CUSTOMER = { id: 7n, uid: 'c7', email: 'a@example.com', firstName: 'Ada', lastName: '', timezone: 'UTC' };

let lines: Record<string, unknown>[];
let bus: HookBus;
beforeEach(() => {
  lines = [];
  bus = newBus();
  withHooks(bus, { name: 'acme/core', declares: DECLARES });
});

function newBus(known = knownHooks): HookBus {
  const write = (line: string) => void lines.push(JSON.parse(line));
  return createHookBus(createLog({ level: 'info', format: 'json', write }), known);
}

/** A live plugin that registers this in `boot`. */
const live = (name: string, boot: (hooks: HookRegistration) => void, more: Partial<Plugin> = {}) =>
  withHooks(bus, { name, boot, ...more });

/** What is thrown. */
function faultOf(act: () => unknown): { code?: unknown; message?: unknown } {
  try {
    act();
  } catch (error) {
    return error instanceof Error ? { ...error, message: error.message } : { message: error };
  }
  return {};
}

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
    bus.forget('acme/badge');
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

describe('names', () => {
  const use = (name: string, boot: (hooks: HookRegistration) => void, more: Partial<Plugin> = {}) =>
    faultOf(() => live(name, boot, more));

  test('every name of the specification is known', () => {
    const families = { name: 'images', ctrl: 'lists', action: 'show', slot: 'top', vendor: 'acme' };
    const names = Object.keys(knownHooks).map((name) =>
      name.replace(/<(\w+)>/g, (_, part: string) => families[part as keyof typeof families] ?? '?'),
    );
    expect(names.sort()).toEqual([
      ...['activate_plugin_acme/images', 'add_translation_file', 'admin.sidebar.groups', 'ai_task_completed'],
      ...['customer_added', 'delete_plugin_acme/images', 'dispatch_list_import_job', 'layout.body.before_close'],
      ...['layout.head.assets', 'page.lists.show.top', 'plan_changed', 'register_sending_server_driver'],
      ...['register_sending_server_images', 'sidebar-menu-items', 'subscription_terminated'],
    ]);
    const known = live('acme/everything', (hooks) => {
      hooks.add('page.lists.show.top', { title: 'Top', href: '/plugins/acme/everything' });
      hooks.on('activate_plugin_acme/everything', () => undefined);
      hooks.on('delete_plugin_other/thing', () => undefined);
    });
    expect(known).toBe('acme/everything');
  });

  test('an unknown one is refused with the nearest names', () => {
    const fault = use('a/typo', (hooks) => hooks.on('customer_aded' as 'customer_added', () => undefined));
    expect(fault).toMatchObject({
      code: 'UNKNOWN_HOOK',
      message: expect.stringMatching(/"a\/typo" uses the hook "customer_aded".*nearest names are "customer_added", /),
    });
    // Hooks of other plugins are among them, and parts of a family are not enough.
    expect(use('b/typo', (hooks) => hooks.on('acme_score' as 'acme_scored', () => undefined)).message).toContain(
      'nearest names are "acme_scored"',
    );
    expect(
      use('c/typo', (hooks) => hooks.on('activate_plugin_acme' as 'activate_plugin_a/b', () => undefined)).message,
    ).toContain('"activate_plugin_<vendor>/<name>"');
    expect(use('c/part', (hooks) => hooks.add('page.lists.show' as 'acme_badges', '')).message).toContain(
      'nearest names are "page.<ctrl>.<action>.<slot>", ',
    );
    for (const name of ['constructor', '__proto__', ''])
      expect(use(`d/odd-${name}`, (hooks) => hooks.on(name as 'acme_scored', () => undefined))).toMatchObject({
        code: 'UNKNOWN_HOOK',
      });
  });

  test('a plugin declares its own; another one may declare it too, but only in the same way', () => {
    const event = (name: string, pattern: 'EVENT' | 'FILTER', version?: number) =>
      faultOf(() =>
        bus.register({ name, declares: { 'acme.done': { pattern, ...(version === undefined ? {} : { version }) } } }),
      );
    expect(event('a/one', 'EVENT')).toEqual({});
    expect(event('b/two', 'EVENT', 1)).toEqual({});
    expect(event('c/three', 'FILTER')).toMatchObject({
      code: 'DECLARED_TWICE',
      message: expect.stringMatching(/"c\/three".*"a\/one"/),
    });
    expect(event('d/four', 'EVENT', 2)).toMatchObject({ code: 'DECLARED_TWICE' });
    expect(
      faultOf(() => bus.register({ name: 'e/five', declares: { customer_added: { pattern: 'FILTER' } } })),
    ).toMatchObject({
      code: 'DECLARED_TWICE',
      message: expect.stringContaining('Mailwright'),
    });
    // The name stays known as long as one of them is there.
    bus.forget('a/one');
    expect(use('f/six', (hooks) => hooks.on('acme.done' as 'acme_scored', () => undefined))).toEqual({});
    bus.forget('b/two');
    expect(use('g/seven', (hooks) => hooks.on('acme.done' as 'acme_scored', () => undefined))).toMatchObject({
      code: 'UNKNOWN_HOOK',
    });
  });

  test.each([
    ['customer_added', 'add()', 'on()'],
    ['sidebar-menu-items', 'add()', 'modify()'],
    ['dispatch_list_import_job', 'add()', 'set() or setIfEmpty()'],
  ])('%s with the wrong method is refused with the right one', (hook, wrong, right) => {
    const fault = use('a/wrong', (hooks) => hooks.add(hook as 'acme_badges', 'x'));
    expect(fault).toMatchObject({ code: 'WRONG_PATTERN' });
    expect(fault.message).toContain(`calls ${wrong} for the hook "${hook}"`);
    expect(fault.message).toContain(`use ${right}.`);
  });

  test('each other wrong method is refused as well', () => {
    const wrong: ((hooks: HookRegistration) => void)[] = [
      (hooks) => hooks.on('sidebar-menu-items' as 'acme_scored', () => undefined),
      (hooks) => hooks.set('customer_added' as 'acme_price', () => 1),
      (hooks) => hooks.setIfEmpty('customer_added' as 'acme_price', () => 1),
      (hooks) => hooks.modify('acme_badges' as 'acme_text', (text) => text),
    ];
    for (const [index, boot] of wrong.entries())
      expect(use(`a/wrong-${index}`, boot)).toMatchObject({ code: 'WRONG_PATTERN' });
    expect(bus.collect('acme_badges')).toEqual([]);
  });

  test('drivers and translations are registered in register, all else in boot', () => {
    const translation = { language: 'de', file: '/de.json' };
    expect(use('a/one', (hooks) => hooks.add('add_translation_file', translation))).toMatchObject({
      code: 'WRONG_PHASE',
      message: expect.stringMatching(/"add_translation_file" in boot\(\).*belongs in register\(\)/),
    });
    expect(use('b/two', (hooks) => hooks.add('register_sending_server_icons', 1))).toMatchObject({
      code: 'WRONG_PHASE',
    });
    expect(
      faultOf(() =>
        bus.register({ name: 'c/three', register: (hooks) => hooks.on('customer_added', () => undefined) }),
      ),
    ).toMatchObject({
      code: 'WRONG_PHASE',
      message: expect.stringMatching(/in register\(\).*belongs in boot\(\)/),
    });
    withHooks(bus, { register: (hooks) => hooks.add('add_translation_file', translation) });
    expect(bus.collect('add_translation_file')).toEqual([translation]);
  });

  test('a plugin for another version of a hook is refused and says what to do', () => {
    bus = newBus({ ...knownHooks, customer_added: { pattern: 'EVENT', version: 2, phase: 'boot' } });
    const boot = (hooks: HookRegistration) => hooks.on('customer_added', () => undefined);
    expect(use('a/silent', boot)).toMatchObject({
      code: 'WRITTEN_FOR_OLDER',
      message: expect.stringMatching(/version 1 .*has version 2 here. Install a newer version of the plugin/),
    });
    expect(use('b/new', boot, { versions: { customer_added: 3 } })).toMatchObject({
      code: 'WRITTEN_FOR_NEWER',
      message: expect.stringContaining('Upgrade Mailwright'),
    });
    expect(use('c/right', boot, { versions: { customer_added: 2 } })).toEqual({});
    // Of its own hooks the version is the declared one.
    const own = { acme_scored: { pattern: 'EVENT', version: 5 } } as const;
    expect(use('d/own', (hooks) => hooks.on('acme_scored', () => undefined), { declares: own })).toEqual({});
    expect(use('e/other', (hooks) => hooks.on('acme_scored', () => undefined))).toMatchObject({
      code: 'WRITTEN_FOR_OLDER',
    });
  });

  test('a plugin calls the hooks that it declares, and no others', async () => {
    const seen: unknown[] = [];
    live('a/listener', (hooks) => {
      hooks.on('acme_scored', (score) => void seen.push(score));
      hooks.on('ai_task_completed', ({ task }) => void seen.push(task));
    });
    let calls: HookRegistration['calls'] | undefined;
    live('b/caller', (hooks) => ({ calls } = hooks), { declares: { acme_scored: { pattern: 'EVENT' } } });
    await calls?.fire('acme_scored', 9, []);
    await calls?.fire('ai_task_completed', { task: 'subject line' });
    expect(seen).toEqual([9, 'subject line']);
    await expect(calls?.fire('customer_added', CUSTOMER)).rejects.toMatchObject({ code: 'NOT_DECLARED' });
    await expect(calls?.perform('acme_price', 1)).rejects.toMatchObject({ code: 'NOT_DECLARED' });
    for (const act of [
      () => calls?.collect('acme_badges'),
      () => calls?.filter('acme_text', ''),
      () => calls?.performer('acme_price'),
    ])
      expect(faultOf(act)).toMatchObject({ code: 'NOT_DECLARED' });
  });
});

describe('order', () => {
  const word = (name: string, order?: { before?: string[]; after?: string[]; priority?: number }) =>
    definePlugin({ name, boot: (hooks) => hooks.modify('acme_words', (words) => [...words, name], order) });

  function orderOf(...plugins: Plugin[]): readonly string[] {
    bus = newBus();
    withHooks(bus, { name: 'acme/core', declares: DECLARES });
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

  test('a priority that is no number is refused', () => {
    expect(faultOf(() => orderOf(word('a/a', { priority: Number.NaN })))).toMatchObject({ code: 'INVALID_ORDER' });
  });
});

describe('faults of a plugin', () => {
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
    'a promise that is none': () => ({
      get then(): unknown {
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
});
