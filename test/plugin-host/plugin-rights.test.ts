/** What a plugin's manifest may ask for, and that a hook that it does not name is refused. */
import { expect, test } from 'vitest';
import { SCOPES } from '../../src/domain/accounts/scopes.ts';
import { silentLog } from '../../src/lib/log.ts';
import {
  NO_RIGHTS,
  rightsBeyond,
  type HookRegistration,
  type Plugin,
  type PluginRights,
} from '../../src/plugin-api/index.ts';
import { GRANTABLE_SCOPES } from '../../src/plugin-host/grantable-scopes.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { parseManifest } from '../../src/plugin-host/plugin-manifest.ts';
import { faultOf } from '../support/hook-world.ts';
import { manifestOf } from '../support/plugin-folder.ts';

const PLACE = { vendor: 'acme-tools', name: 'notes', isBundled: false };
const wantsOf = (mailwright: object): PluginRights => {
  const manifest = { ...manifestOf('acme-tools/notes'), mailwright: { contract: 1, ...mailwright } };
  return parseManifest(JSON.stringify(manifest), PLACE).wants;
};

test('a key that is absent asks for nothing', () => {
  expect(wantsOf({})).toEqual(NO_RIGHTS);
});

test('what a manifest asks for, without repetitions', () => {
  const asked = {
    ...{ scopes: ['lists:write', 'lists:read', 'lists:read'], customers: 'all', hooks: ['page.*', 'customer_added'] },
    ...{ hosts: ['*.example.com', 'api.example.com:8443', 'localhost:9'], tables: 'acme_tools_' },
    browserHosts: ['pay.example.com', 'pay.example.com'],
  };
  expect(wantsOf(asked)).toEqual({
    ...{ scopes: ['lists:read', 'lists:write'], customers: 'all', hooks: ['customer_added', 'page.*'] },
    ...{ hosts: ['*.example.com', 'api.example.com:8443', 'localhost:9'], tables: true },
    browserHosts: ['pay.example.com'],
  });
});

test.for([
  [{ scopes: ['lists'] }, '"scopes" of "mailwright" in package.json must be a list of GraphQL scopes'],
  [{ scopes: ['*'] }, '"scopes" of "mailwright"'],
  [{ scopes: 'admin' }, '"scopes" of "mailwright"'],
  [{ customers: 'some' }, '"chosen" (the plugin acts only for customers that have switched it on) or "all"'],
  [{ hooks: ['*'] }, '"hooks" of "mailwright"'],
  [{ hooks: ['a b'] }, '"hooks" of "mailwright"'],
  [{ hosts: ['https://example.com'] }, '"hosts" of "mailwright" in package.json must be a list of host names'],
  [{ hosts: ['Example.com'] }, '"hosts" of "mailwright"'],
  [{ hosts: ['*'] }, '"hosts" of "mailwright"'],
  [{ hosts: ['*.com:0'] }, '"hosts" of "mailwright"'],
  [{ hosts: Array.from({ length: 101 }, (_, n) => `h${n}.example.com`) }, '"hosts" of "mailwright"'],
  [
    { browserHosts: ['https://pay.example.com'] },
    '"browserHosts" of "mailwright" in package.json must be a list of host names',
  ],
  [{ tables: 'other_' }, `the names of this vendor's tables begin with "acme_tools_"`],
  [{ tables: 1 }, '"tables" of "mailwright"'],
  [{ everything: true }, '"hosts", "browserHosts", "tables"; nothing else'],
] as const)('a fault is a sentence: %j', ([mailwright, sentence]) => {
  expect(() => wantsOf(mailwright)).toThrow(sentence);
});

test('a plugin may ask for the scopes of tokens, but not for users and their credentials', () => {
  expect(GRANTABLE_SCOPES).toEqual(SCOPES.filter((scope) => scope !== 'account:write'));
});

test('what is beyond a grant', () => {
  const granted: PluginRights = { ...NO_RIGHTS, scopes: ['lists:read'], hooks: ['page.*'], hosts: ['example.com'] };
  expect(rightsBeyond(granted, { ...granted, hooks: ['page.lists.show.side'] })).toBeUndefined();
  expect(rightsBeyond(granted, NO_RIGHTS)).toBeUndefined();
  const more = { ...granted, scopes: ['lists:read', 'admin'], hooks: ['customer_added'], tables: true };
  expect(rightsBeyond(granted, more)).toEqual({
    ...NO_RIGHTS,
    ...{ scopes: ['admin'], hooks: ['customer_added'], tables: true },
  });
  expect(rightsBeyond(granted, { ...granted, customers: 'all' })).toMatchObject({ customers: 'all' });
  expect(rightsBeyond({ ...granted, customers: 'all' }, granted)).toBeUndefined();
});

const UNNAMED: [string, NonNullable<Plugin['boot']>][] = [
  ['a hook of Mailwright', (hooks) => hooks.on('plan_changed', () => undefined)],
  ['a FILTER', (hooks) => hooks.modify('sidebar-menu-items', (items) => items)],
  ['one of a family', (hooks) => hooks.add('page.a.b.c', { title: 't', href: '/' })],
  ['one that it calls', (hooks) => void hooks.calls.performer('dispatch_list_import_job')],
];

test.for(UNNAMED)('a hook that the manifest does not name is refused: %s', ([, boot]) => {
  const bus = createHookBus(silentLog);
  const plugin: Plugin = { name: 'acme/notes', boot };
  bus.register(plugin, { rights: { ...NO_RIGHTS, hooks: ['customer_added'] } });
  const { code, message } = faultOf(() => bus.boot(plugin));
  expect(['NOT_IN_MANIFEST', 'NOT_DECLARED']).toContain(code);
  expect(message).toContain('Plugin "acme/notes"');
  bus.remove('acme/notes');
});

test('a hook that the manifest names, by name or by beginning, and those of the plugin itself are not refused', () => {
  const bus = createHookBus(silentLog);
  const plugin: Plugin = {
    name: 'acme/notes',
    declares: { acme_made: { pattern: 'EVENT' } } as const,
    boot(hooks: HookRegistration) {
      hooks.on('customer_added', () => undefined);
      hooks.add('page.a.b.c', { title: 't', href: '/' });
      Reflect.apply(hooks.on, hooks, ['acme_made', () => undefined]);
    },
  };
  bus.register(plugin, { rights: { ...NO_RIGHTS, hooks: ['customer_added', 'page.*'] } });
  bus.boot(plugin);
});

test('declaring a hook of Mailwright as its own gives no right to it', () => {
  const bus = createHookBus(silentLog);
  const plugin: Plugin = {
    name: 'acme/notes',
    declares: { plan_changed: { pattern: 'EVENT' } } as const,
    boot: (hooks: HookRegistration) => hooks.on('plan_changed', () => undefined),
  };
  bus.register(plugin, { rights: NO_RIGHTS });
  expect(faultOf(() => bus.boot(plugin)).code).toBe('NOT_IN_MANIFEST');
});
