/** The layout of a plugin's folder (specification 4.13, decision D38): every part is used by the running product. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { sessionCookieOf } from '../support/pages-plugin.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { manifestOf, newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });

const FILES = {
  'index.ts': `
    import { boot, register } from './src/service-provider.ts';
    export const plugin = { name: 'acme/layout', register, boot };`,
  'src/service-provider.ts': `
    import { routes, rows } from '../routes.ts';
    export function register(hooks) {
      for (const language of ['en', 'de']) hooks.add('add_translation_file', { language, file: language + '.json' });
    }
    export function boot(hooks, services) {
      for (const route of routes(services)) hooks.add('route', route);
      for (const row of rows) hooks.add('rest_row', row);
      hooks.add('page', { name: 'notes', audience: 'admin', title: { key: 'title' }, view: 'notes.liquid', data: () => ({ of: 'layout' }) });
    }`,
  'routes.ts': `
    import { NotesController } from './src/controllers/notes-controller.ts';
    export const routes = (services) => [
      { method: 'GET', path: '/notes', auth: 'admin', handle: () => new NotesController(services).index() },
    ];
    export const rows = [{
      method: 'GET', path: '/layout/lists', access: 'token', summary: 'Lists the names of lists.',
      operation: '{ lists { ... on MailListConnection { edges { node { name } } } } }',
      present: ({ lists }) => ({ names: lists.edges.map(({ node }) => node.name) }),
      answers: { kind: 'body', shape: { type: 'object' } },
    }];`,
  'src/controllers/notes-controller.ts': `
    import { allNotes } from '../models/note.ts';
    export class NotesController {
      #services: object;
      constructor(services: object) { this.#services = services; }
      async index() { return { json: await allNotes(this.#services) }; }
    }`,
  'src/models/note.ts': `
    export const allNotes = async ({ database }) =>
      (await database.query('SELECT text FROM acme_layout_note')).rows;`,
  'resources/views/notes.liquid': '<p>view of {{ of }}</p>',
  'resources/lang/en.json': JSON.stringify({ title: 'Notes' }),
  'resources/lang/de.json': JSON.stringify({ title: 'Notizen' }),
  'tests/layout.test.ts': `throw new Error('a test is no part of the running plugin');`,
};
const MIGRATIONS = {
  '0001_notes.sql': `CREATE TABLE acme_layout_note (text text); INSERT INTO acme_layout_note VALUES ('kept');`,
};
const HOOKS = ['add_translation_file', 'page', 'rest_row', 'route'];

function write(name: string): void {
  const manifest = { ...manifestOf('acme/layout', '1.0.0', { hooks: HOOKS, tables: true }), name };
  writePlugin(dataDir, 'acme/layout', { manifest, migrations: MIGRATIONS, files: FILES });
}

const get = (place: string, cookie = '') =>
  fetch(`${app.baseUrl}/plugins/acme/layout${place}`, { headers: { Cookie: cookie, 'Accept-Language': 'en' } });

test('routes.ts, index.ts, the provider, controllers, models, migrations, views and texts work together', async () => {
  write('@acme/layout');
  expect(await client.activate('acme/layout')).toMatchObject({ status: 'ACTIVE', error: null, fault: null });
  expect((await get('/notes')).status).toBe(401);
  const cookie = await sessionCookieOf(app, app.adminToken);
  expect(await (await get('/notes', cookie)).json()).toEqual([{ text: 'kept' }]);
  const page = await get('/pages/notes', cookie);
  const text = await page.text();
  expect(page.status).toBe(200);
  expect(text).toContain('<p>view of layout</p>');
  expect(text).toContain('Notes');
  expect(await queryRows(app.ctx.db, sql`SELECT no FROM plugin_migration WHERE vendor = 'acme'`)).toEqual([{ no: 1 }]);
});

test('a REST row stands below /api/v1/<plugin>/ and is asked with an API token', async () => {
  const ask = (token?: string) =>
    fetch(`${app.baseUrl}/api/v1/layout/lists`, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
  expect((await ask()).status).toBe(401);
  await client.switchOn('acme/layout');
  const answer = await ask(app.adminToken);
  expect([answer.status, await answer.json()]).toEqual([200, { names: [] }]);
});

test('a view belongs to its plugin: another plugin has one of the same name', async () => {
  const page = `{ name: 'notes', audience: 'admin', title: 'Other', view: 'notes.liquid' }`;
  writePlugin(dataDir, 'other/layout', {
    code: `export const plugin = { name: 'other/layout', boot: (hooks) => hooks.add('page', ${page}) };`,
    files: { 'resources/views/notes.liquid': '<p>view of the other</p>' },
  });
  expect(await client.activate('other/layout')).toMatchObject({ status: 'ACTIVE' });
  const cookie = await sessionCookieOf(app, app.adminToken);
  const other = await fetch(`${app.baseUrl}/plugins/other/layout/pages/notes`, { headers: { Cookie: cookie } });
  expect(await other.text()).toContain('view of the other');
  expect(await (await get('/pages/notes', cookie)).text()).toContain('view of layout');
});

test('the name in package.json may also be without @', async () => {
  await client.deactivate('acme/layout');
  await client.remove('acme/layout', { keepData: false });
  write('acme/layout');
  expect(await client.activate('acme/layout')).toMatchObject({ status: 'ACTIVE', error: null, fault: null });
});
