/** What plugins add to pages, as any front end gets it: GraphQL `extensionSlots`, REST `GET /extension_slots`. */
import { beforeAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import type { PluginServices } from '../../src/plugin-api/index.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { switchedOnByAll } from '../support/switched-on-by-all.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
let tenant: RestTenant;

const HOSTILE = '<img src=x onerror=alert(1)>"\'</script><script>alert(1)</script>';
const CODE = `
  export const plugin = {
    name: 'acme/tools',
    register(hooks) {
      hooks.add('add_translation_file', { language: 'en', file: 'en.json' });
      hooks.add('add_translation_file', { language: 'de', file: './resources/lang/de.json' });
      hooks.add('add_translation_file', { language: 'pt', texts: { notes: 'Notas' } });
    },
    boot(hooks, services) {
      globalThis.acmeTools = services;
      hooks.add('layout.head.assets', { kind: 'stylesheet', href: '/plugins/acme/tools/static/look.css' });
      hooks.add('layout.body.before_close', { kind: 'script', href: '/plugins/acme/tools/static/admin.js', audience: 'admin' });
      hooks.add('admin.sidebar.groups', { label: { key: 'group' }, items: [{ label: { key: 'notes' }, href: '/plugins/acme/tools/pages/notes' }] });
      hooks.add('page.campaigns.show.below-title', { title: { key: 'notes' }, href: 'https://notes.example/' });
      hooks.add('page.campaigns.show.aside', { title: ${JSON.stringify(HOSTILE)}, href: '/plugins/acme/tools/pages/aside', audience: 'admin' });
      hooks.modify('sidebar-menu-items', (items) => [
        ...items,
        { label: { key: 'notes' }, href: '/plugins/acme/tools/pages/notes' },
        { label: ${JSON.stringify(HOSTILE)}, href: '/admin-only', audience: 'admin' },
      ]);
    },
  };`;
const LANG = {
  'resources/lang/en.json': JSON.stringify({
    group: 'Tools',
    notes: 'Notes',
    many: '{n, plural, one {# note} other {# notes}}',
  }),
  'resources/lang/de.json': JSON.stringify({ notes: 'Notizen' }),
};

beforeAll(async () => {
  writePlugin(dataDir, 'acme/tools', { code: CODE, files: LANG });
  writePlugin(dataDir, 'acme/after', {
    code: `export const plugin = { name: 'acme/after', boot: (hooks) =>
      hooks.modify('sidebar-menu-items', (items) => [...items, { label: 'After', href: '/after' }], { after: ['acme/tools'] }) };`,
  });
  expect(await client.activate('acme/tools')).toMatchObject({ status: 'ACTIVE' });
  expect(await client.activate('acme/after')).toMatchObject({ status: 'ACTIVE' });
  tenant = await app.newTenant();
  for (const plugin of ['acme/tools', 'acme/after']) await switchedOnByAll(app.ctx, plugin);
});

const FIELDS = 'plugin slot kind label href items { label href isForAdministrators } isForAdministrators order';

async function slots(token: string, values: Record<string, string>) {
  const given = Object.entries(values).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const query = `{ it: extensionSlots(${given.join(', ')}) {
    __typename ... on Error { message } ... on ValidationError { fields { field messages } }
    ... on ExtensionSlotsSuccess { nodes { ${FIELDS} } } } }`;
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = await response.json();
  expect(errors).toBeUndefined();
  return data.it;
}

const NOTES = { plugin: 'acme/tools', label: 'Notes', items: [], isForAdministrators: false };

test('a customer gets the entries for everybody, in their order, with the plugin of each', async () => {
  expect((await slots(tenant.token, { page: 'sidebar' })).nodes).toEqual([
    { ...NOTES, slot: 'menu-items', kind: 'menu_item', href: '/plugins/acme/tools/pages/notes', order: 0 },
    { ...NOTES, plugin: 'acme/after', slot: 'menu-items', kind: 'menu_item', label: 'After', href: '/after', order: 2 },
  ]);
  expect((await slots(tenant.token, { page: 'layout' })).nodes).toEqual([
    {
      ...NOTES,
      slot: 'head.assets',
      kind: 'stylesheet',
      label: null,
      href: '/plugins/acme/tools/static/look.css',
      order: 0,
    },
  ]);
  expect((await slots(tenant.token, { page: 'campaigns.show' })).nodes).toEqual([
    { ...NOTES, slot: 'below-title', kind: 'section', href: 'https://notes.example/', order: 0 },
  ]);
  expect((await slots(tenant.token, { page: 'admin' })).nodes).toEqual([]);
  expect((await slots(tenant.token, { page: 'campaigns.show', slot: 'other' })).nodes).toEqual([]);
});

test('an administrator gets those for administrators, too; a hostile label is plain text', async () => {
  const menu = (await slots(app.adminToken, { page: 'sidebar' })).nodes;
  expect(menu.map(({ label }: { label: string }) => label)).toEqual(['Notes', HOSTILE, 'After']);
  expect(menu[1]).toMatchObject({ isForAdministrators: true, href: '/admin-only', plugin: 'acme/tools' });
  const items = [{ label: 'Notes', href: '/plugins/acme/tools/pages/notes', isForAdministrators: true }];
  expect((await slots(app.adminToken, { page: 'admin' })).nodes).toEqual([
    {
      ...NOTES,
      slot: 'sidebar.groups',
      kind: 'menu_group',
      label: 'Tools',
      href: null,
      items,
      isForAdministrators: true,
      order: 0,
    },
  ]);
  expect((await slots(app.adminToken, { page: 'layout', slot: 'body.before_close' })).nodes).toMatchObject([
    { kind: 'script' },
  ]);
  expect((await slots(app.adminToken, { page: 'campaigns.show' })).nodes).toMatchObject([
    { slot: 'aside' },
    { slot: 'below-title' },
  ]);
});

test('labels are in the language asked for, else in the customer’s, else in English', async () => {
  const labelIn = async (token: string, language: Record<string, string> = {}) =>
    (await slots(token, { page: 'sidebar', ...language })).nodes[0].label;
  expect(await labelIn(tenant.token, { language: 'de' })).toBe('Notizen');
  expect(await labelIn(tenant.token, { language: 'pt-BR' })).toBe('Notas');
  expect(await labelIn(tenant.token, { language: 'fr' })).toBe('Notes');
  await app.ctx.db.execute(sql`UPDATE customer SET language_id = 2 WHERE id = ${tenant.customerId}`);
  expect(await labelIn(tenant.token)).toBe('Notizen');
  expect((await slots(app.adminToken, { page: 'admin', language: 'de' })).nodes).toMatchObject([
    { label: 'Tools', items: [{ label: 'Notizen' }] },
  ]);
});

test('a plugin finds its texts by its services, with values', () => {
  const { translate } = Reflect.get(globalThis, 'acmeTools') as PluginServices;
  expect(translate('de', 'notes')).toBe('Notizen');
  expect(translate('de', 'many', { n: 1 })).toBe('1 note');
  expect(translate('en-GB', 'many', { n: 2 })).toBe('2 notes');
  // Without its value there is no text; a key without texts is shown itself.
  expect(translate('en', 'many')).toBe('many');
  expect(translate('en', 'constructor')).toBe('constructor');
});

test('a page or slot that cannot be is told', async () => {
  expect(await slots(tenant.token, { page: 'nowhere' })).toMatchObject({
    fields: [{ field: 'page', messages: [expect.stringContaining('layout, admin, sidebar')] }],
  });
  expect(await slots(tenant.token, { page: 'layout', slot: 'x' })).toMatchObject({
    fields: [{ field: 'slot', messages: ['The slot of this page must be head.assets or body.before_close.'] }],
  });
  expect(await slots(tenant.token, { page: 'a.b', slot: 'x y' })).toMatchObject({ fields: [{ field: 'slot' }] });
});

test('REST answers the same', async () => {
  const { status, body } = await app.rest('/extension_slots?page=admin&language=de', { token: app.adminToken });
  expect(status).toBe(200);
  expect(body).toEqual([
    {
      ...{ plugin: 'acme/tools', slot: 'sidebar.groups', kind: 'menu_group', label: 'Tools', href: null, order: 0 },
      is_for_administrators: true,
      items: [{ label: 'Notizen', href: '/plugins/acme/tools/pages/notes', is_for_administrators: true }],
    },
  ]);
});

test.for([
  ['a file that is not there', `{ language: 'de', file: 'no.json' }`, {}, 'resources/lang/no.json is not there'],
  ['a file elsewhere', `{ language: 'de', file: '../../package.json' }`, {}, 'is not there'],
  ['no JSON', `{ language: 'de', file: 'de.json' }`, { 'resources/lang/de.json': '{' }, 'is not valid JSON'],
  [
    'a list',
    `{ language: 'de', file: 'de.json' }`,
    { 'resources/lang/de.json': '[]' },
    'must be an object of keys and texts',
  ],
  [
    'a wrong message',
    `{ language: 'de', texts: { a: '{x, plural, one {1}', 'b c': 'd', e: 5 } }`,
    {},
    '"a": is no valid ICU message',
  ],
  ['a wrong key', `{ language: 'de', texts: { 'b c': 'd', e: 5 } }`, {}, '"b c": a key has letters'],
  ['no language', `{ language: 'not a tag', texts: {} }`, {}, 'must be a language tag such as de'],
  ['neither', `{ language: 'de' }`, {}, 'needs either "file" or "texts"'],
  [
    'a large file',
    `{ language: 'de', file: 'de.json' }`,
    { 'resources/lang/de.json': ' '.repeat(200_001) },
    'is over 200000 bytes',
  ],
] as const)('a translation with %s is refused when the plugin is found', async ([, entry, files, fault]) => {
  writePlugin(dataDir, 'acme/bad', {
    version: `1.0.${Math.floor(Math.random() * 1e9)}`,
    code: `export const plugin = { name: 'acme/bad', register: (hooks) => hooks.add('add_translation_file', ${entry}) };`,
    files,
  });
  await client.discover();
  expect((await client.plugin('acme/bad')).fault).toContain(fault);
});

test('what a plugin has added is gone with it', async () => {
  await client.deactivate('acme/tools');
  expect((await slots(app.adminToken, { page: 'sidebar' })).nodes).toMatchObject([{ plugin: 'acme/after', order: 0 }]);
  expect((await slots(app.adminToken, { page: 'campaigns.show' })).nodes).toEqual([]);
});
