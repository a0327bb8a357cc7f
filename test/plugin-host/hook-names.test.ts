/** Names of hooks: what a plugin may register for, where, and for which version; everything else is refused with what to do. */
import { beforeEach, expect, test } from 'vitest';
import type { HookRegistration, Plugin } from '../../src/plugin-api/index.ts';
import { knownHooks } from '../../src/plugin-host/known-hooks.ts';
import { CUSTOMER, faultOf, openHookWorld } from '../support/hook-world.ts';
import { withHooks } from '../support/with-hooks.ts';

let { bus, live } = openHookWorld();
beforeEach(() => void ({ bus, live } = openHookWorld()));

const use = (name: string, boot: (hooks: HookRegistration) => void, more: Partial<Plugin> = {}) =>
  faultOf(() => live(name, boot, more));

test('every name of the specification is known', () => {
  const families = { name: 'images', ctrl: 'lists', action: 'show', slot: 'top', vendor: 'acme' };
  const names = Object.keys(knownHooks).map((name) =>
    name.replace(/<(\w+)>/g, (_, part: string) => families[part as keyof typeof families] ?? '?'),
  );
  const specified = [
    ...['activate_plugin_acme/images', 'add_translation_file', 'admin.sidebar.groups', 'ai_task_completed'],
    ...['before_message_sent', 'customer_added', 'delete_plugin_acme/images', 'dispatch_list_import_job', 'import_row'],
    ...[
      'layout.body.before_close',
      'layout.head.assets',
      'message_composed',
      'page.lists.show.top',
      'plan_changed',
      'register_sending_server_driver',
    ],
    ...['register_sending_server_images', 'sidebar-menu-items', 'subscription_terminated'],
  ];
  expect(specified.filter((name) => !names.includes(name))).toEqual([]);
  const known = live('acme/everything', (hooks) => {
    hooks.add('page.lists.show.top', { title: 'Top', href: '/plugins/acme/everything' });
    hooks.on('activate_plugin_acme/everything', () => undefined);
    hooks.on('delete_plugin_other/thing', () => undefined);
  });
  expect(known).toBe('acme/everything');
});

test('what is no function is refused where one is called', () => {
  expect(use('a/none', (hooks) => hooks.on('customer_added', undefined as never))).toMatchObject({
    code: 'NOT_A_FUNCTION',
    message: expect.stringContaining('"a/none" registers for the hook "customer_added" what is no function.'),
  });
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
  bus.remove('a/one');
  expect(use('f/six', (hooks) => hooks.on('acme.done' as 'acme_scored', () => undefined))).toEqual({});
  bus.remove('b/two');
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
  const translation = { language: 'de', texts: { title: 'Notizen' } };
  expect(use('a/one', (hooks) => hooks.add('add_translation_file', translation))).toMatchObject({
    code: 'WRONG_PHASE',
    message: expect.stringMatching(/"add_translation_file" in boot\(\).*belongs in register\(\)/),
  });
  expect(use('b/two', (hooks) => hooks.add('register_sending_server_icons', 1))).toMatchObject({
    code: 'WRONG_PHASE',
  });
  expect(
    faultOf(() => bus.register({ name: 'c/three', register: (hooks) => hooks.on('customer_added', () => undefined) })),
  ).toMatchObject({
    code: 'WRONG_PHASE',
    message: expect.stringMatching(/in register\(\).*belongs in boot\(\)/),
  });
  withHooks(bus, { register: (hooks) => hooks.add('add_translation_file', translation) });
  expect(bus.collect('add_translation_file')).toEqual([translation]);
});

test('a plugin for another version of a hook is refused and says what to do', () => {
  ({ bus, live } = openHookWorld({ ...knownHooks, customer_added: { pattern: 'EVENT', version: 2, phase: 'boot' } }));
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
  const listen = (hooks: HookRegistration) => hooks.on('acme_graded' as 'acme_scored', () => undefined);
  const declares = { acme_graded: { pattern: 'EVENT', version: 5 } } as const;
  expect(use('d/own', listen, { declares })).toEqual({});
  expect(use('e/other', listen)).toMatchObject({ code: 'WRITTEN_FOR_OLDER' });
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

test.each([
  ['a\0b', 'NUL'],
  ['x'.repeat(300), 'too long'],
  ['', 'none'],
  ['two words', 'a space'],
])('names that the counters of faults cannot store are refused: %j', (name) => {
  const refused = { code: 'INVALID_NAME', message: expect.stringMatching(/letters, digits.*at most 200/) };
  const declares = { [name]: { pattern: 'EVENT' } } as const;
  expect(faultOf(() => bus.register({ name: 'a/declares', declares }))).toMatchObject(refused);
  expect(faultOf(() => bus.register({ name }))).toMatchObject(refused);
});

test('the name of a family is too long or is the pattern itself', () => {
  for (const hook of [`register_sending_server_${'x'.repeat(300)}`, 'register_sending_server_<name>'] as const) {
    const register = (hooks: HookRegistration): void => hooks.add(hook, {});
    expect(faultOf(() => bus.register({ name: 'a/family', register }))).toMatchObject({ code: 'UNKNOWN_HOOK' });
  }
});
