/** What plugins hand over for pages: checked when it is added, with every fault in a sentence; and what they hand over stays a copy. */
import { beforeEach, expect, test } from 'vitest';
import type { HookRegistration } from '../../src/plugin-api/index.ts';
import { faultOf, openHookWorld } from '../support/hook-world.ts';

let { bus, live, lines } = openHookWorld();
beforeEach(() => void ({ bus, live, lines } = openHookWorld()));

const use = (boot: (hooks: HookRegistration) => void) => faultOf(() => openHookWorld().live('acme/tools', boot));

const HOSTILE = [
  ...[
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
  ],
  ...['//evil.example', '/\\evil.example', '\\\\evil.example', 'http://plain.example', 'https://user:pw@evil.example/'],
  ...['vbscript:x', '', 'notes', 'https:evil.example', '/\tjavascript:x', 'https://', 'blob:https://a/b'],
];

test.each(HOSTILE)('an address %j is refused in menus and sections', (href) => {
  const fault = { code: 'INVALID_ENTRY', message: expect.stringContaining('must be a path of this installation') };
  expect(
    use((hooks) => hooks.add('admin.sidebar.groups', { label: 'Tools', items: [{ label: 'A', href }] })),
  ).toMatchObject(fault);
  expect(use((hooks) => hooks.add('page.lists.show.top', { title: 'A', href }))).toMatchObject(fault);
});

test.each([
  ...HOSTILE,
  ...['https://cdn.example/x.js', '/plugins/acme/other/static/x.js', '/plugins/acme/tools/../other/x.js', '/x.js'],
  ...[
    '/plugins/acme/tools/%2e%2e/other/x.js',
    '/plugins/acme/tools/..%2fother/x.js',
    '/plugins/acme/tools/x.js;script-src',
    '/plugins/acme/tools/x,y.js',
    '/plugins/acme/tools',
  ],
])('a page loads no file %j of a plugin', (href) => {
  expect(use((hooks) => hooks.add('layout.head.assets', { kind: 'script', href }))).toMatchObject({
    code: 'INVALID_ENTRY',
    message: expect.stringContaining('below /plugins/acme/tools/'),
  });
});

test('all faults of an entry are told at once', () => {
  const entry = { label: '', items: [{ label: { key: 'a b' }, href: 'x', extra: 1 }] };
  const { code, message } = use((hooks) => hooks.add('admin.sidebar.groups', entry));
  expect(code).toBe('INVALID_ENTRY');
  expect(message).toMatch(/Plugin "acme\/tools" adds to the hook "admin.sidebar.groups" what cannot be used/);
  for (const part of ['"label"', '"items.0.label.key"', '"items.0.href"', 'extra']) expect(message).toContain(part);
});

test('an entry is a copy: what the plugin changes later has no effect', () => {
  const items = [{ label: 'Notes', href: '/plugins/acme/tools/pages/notes' }];
  live('acme/tools', (hooks) => hooks.add('admin.sidebar.groups', { label: 'Tools', items }));
  items.push({ label: 'Evil', href: 'javascript:alert(1)' });
  for (const item of items) item.href = 'javascript:alert(1)';
  expect(bus.collect('admin.sidebar.groups')).toEqual([
    { label: 'Tools', items: [{ label: 'Notes', href: '/plugins/acme/tools/pages/notes' }] },
  ]);
});

test('a filter that returns a wrong item is a fault of its plugin, and the value before it is used', () => {
  live('acme/good', (hooks) =>
    hooks.modify('sidebar-menu-items', (items) => [...items, { label: 'Good', href: '/good' }]),
  );
  live('acme/tools', (hooks) =>
    hooks.modify('sidebar-menu-items', (items) => [...items, { label: 'Evil', href: 'javascript:alert(1)' }]),
  );
  live('acme/late', (hooks) =>
    hooks.modify('sidebar-menu-items', (items) => items.map((item) => ({ ...item, href: '/moved' }))),
  );
  const before = [{ label: 'Own', href: '/' }];
  const steps = bus.filterSteps('sidebar-menu-items', before, () => true);
  const ownAndGood = [...before, { label: 'Good', href: '/good' }];
  const moved = ownAndGood.map((item) => ({ ...item, href: '/moved' }));
  expect(steps.map(({ plugin, value }) => [plugin, value])).toEqual([
    ['acme/good', ownAndGood],
    ['acme/late', moved],
    ['acme/tools', moved],
  ]);
  expect(bus.filter('sidebar-menu-items', before)).toEqual(moved);
  expect(bus.faults.take()).toEqual([{ plugin: 'acme/tools', hook: 'sidebar-menu-items', failed: 2, late: 0 }]);
  expect(lines).toContainEqual(
    expect.objectContaining({ event: 'hook.listener_failed', message: expect.stringContaining('"2.href"') }),
  );
});
