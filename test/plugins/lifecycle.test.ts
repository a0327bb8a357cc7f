/** The life of a plugin (specification 3.5), on the running product: each sentence of the table. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { NAME_PATTERN } from '../../src/plugin-host/plugin-manifest.ts';
import { RESERVED_NAMES } from '../../src/plugin-host/reserved-names.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { pluginClient, type Answered } from '../support/plugin-client.ts';
import { folderOf, manifestOf, newDataDir, plainCode, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });

const { activate, deactivate, remove, plugin: pluginOf, discover } = client;
const labels = () =>
  app.hooks.filter('sidebar-menu-items', []).map(({ label }) => (typeof label === 'string' ? label : label.key));
const reasonOf = ({ fields = [] }: Answered) => fields.flatMap(({ messages }) => messages).join(' ');

async function tables(prefix: string): Promise<string[]> {
  const rows = await queryRows<{ name: string }>(
    app.ctx.db,
    sql`SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'public' AND starts_with(tablename, ${prefix}) ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

const NOTES = { '0001_notes.sql': 'CREATE TABLE acme_note (id bigserial PRIMARY KEY, text text NOT NULL);' };

test('a plugin that is found is inactive: register() has run, the hooks of boot() are off', async () => {
  writePlugin(dataDir, 'acme/found', {
    code: `
      globalThis.acmeFound = [];
      export const plugin = {
        name: 'acme/found',
        register: () => void globalThis.acmeFound.push('register'),
        boot(hooks) {
          globalThis.acmeFound.push('boot');
          hooks.modify('sidebar-menu-items', (items) => [...items, { label: 'found', href: '/' }]);
        },
      };`,
  });
  await discover();
  expect(await pluginOf('acme/found')).toMatchObject({
    ...{ status: 'INACTIVE', version: '1.0.0', isLive: false, fault: null, error: null, firstActivatedAt: null },
  });
  expect(Reflect.get(globalThis, 'acmeFound')).toEqual(['register']);
  expect(labels()).not.toContain('found');
});

test('the first activation runs the migrations and fires the hook once; hooks are live', async () => {
  writePlugin(dataDir, 'acme/notes', {
    migrations: NOTES,
    code: `
      globalThis.acmeNotes = [];
      export const plugin = {
        name: 'acme/notes',
        boot(hooks) {
          hooks.on('activate_plugin_acme/notes', ({ name }) => void globalThis.acmeNotes.push(name));
          hooks.modify('sidebar-menu-items', (items) => [...items, { label: 'notes', href: '/' }]);
        },
      };`,
  });
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE', isLive: true, error: null });
  expect(labels()).toContain('notes');
  expect(await tables('acme_')).toEqual(['acme_note']);
  await expect.poll(() => Reflect.get(globalThis, 'acmeNotes')).toEqual(['acme/notes']);

  writePlugin(dataDir, 'watch/acme', {
    code: `
      globalThis.acmeDeleted = [];
      export const plugin = {
        name: 'watch/acme',
        boot: (hooks) => hooks.on('delete_plugin_acme/notes', (deleted) => void globalThis.acmeDeleted.push(deleted)),
      };`,
  });
  await activate('watch/acme');

  // Paused: hooks are off, folder and tables stay.
  expect(await deactivate('acme/notes')).toMatchObject({ status: 'INACTIVE', isLive: false });
  expect(labels()).not.toContain('notes');
  expect(await tables('acme_')).toEqual(['acme_note']);
  expect(existsSync(folderOf(dataDir, 'acme/notes'))).toBe(true);

  // Again: neither the migrations nor the hook.
  await app.ctx.db.execute(sql`INSERT INTO acme_note (text) VALUES ('kept')`);
  const first = (await pluginOf('acme/notes')).firstActivatedAt;
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE', firstActivatedAt: first });
  expect(labels()).toContain('notes');
  expect(Reflect.get(globalThis, 'acmeNotes')).toEqual(['acme/notes']);
  expect(await queryRows<{ n: number }>(app.ctx.db, sql`SELECT count(*)::int AS n FROM acme_note`)).toEqual([{ n: 1 }]);

  // Active: it cannot be deleted.
  expect(await remove('acme/notes')).toMatchObject({ code: 'PLUGIN_IS_ACTIVE' });
  await deactivate('acme/notes');

  // With its data kept.
  expect(await remove('acme/notes')).toMatchObject({ __typename: 'DeletedPlugin' });
  expect(await pluginOf('acme/notes')).toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
  expect(existsSync(folderOf(dataDir, 'acme/notes'))).toBe(false);
  expect(await tables('acme_')).toEqual(['acme_note']);

  // It comes back, finds its table, and goes with its data.
  writePlugin(dataDir, 'acme/notes', { migrations: NOTES });
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE' });
  expect(await queryRows<{ n: number }>(app.ctx.db, sql`SELECT count(*)::int AS n FROM acme_note`)).toEqual([{ n: 1 }]);
  await deactivate('acme/notes');
  expect(await remove('acme/notes', { keepData: false })).toMatchObject({ name: 'notes' });
  expect(await tables('acme_')).toEqual([]);
  const deleted = [true, false].map((keepData) => ({ name: 'acme/notes', keepData }));
  await expect.poll(() => Reflect.get(globalThis, 'acmeDeleted')).toEqual(deleted);
});

test('changed files are loaded at the next activation, those that they import, too', async () => {
  const code = `import { definePlugin } from 'mailwright/plugin-api';
    import { label } from './label.ts';
    export const plugin = definePlugin({
      name: 'acme/versions',
      boot: (hooks) => hooks.modify('sidebar-menu-items', (items) => [...items, { label, href: '/' }]),
    });`;
  writePlugin(dataDir, 'acme/versions', { code, files: { 'label.ts': `export const label: string = 'one';` } });
  await activate('acme/versions');
  expect(labels()).toContain('one');
  writePlugin(dataDir, 'acme/versions', {
    ...{ code, version: '2.0.0', files: { 'label.ts': `export const label: string = 'two';` } },
  });
  await discover();
  expect(await pluginOf('acme/versions')).toMatchObject({ version: '1.0.0' });
  expect(await activate('acme/versions')).toMatchObject({ version: '2.0.0' });
  expect(labels().filter((label) => ['one', 'two'].includes(label))).toEqual(['two']);
});

test.for([
  ['a script that is wrong', 'CREATE TABLE bad_a (id int); SELECT 1 / 0;', 'division by zero'],
  ['another prefix', 'CREATE TABLE other_a (id int);', 'does not begin with'],
  ['another schema', 'CREATE TABLE hot.bad_a (id int);', 'does not begin with'],
  ['a schema of its own', 'CREATE SCHEMA bad_schema;', 'makes the schema bad_schema'],
  ['a column of a core table', 'ALTER TABLE customer ADD COLUMN bad_column int;', 'changes the table public.customer'],
  ['a core table dropped', 'DROP TABLE setting;', 'drops the table public.setting'],
  ['a core table emptied', 'TRUNCATE setting;', 'changes the table public.setting'],
  ['rows of a core table', `UPDATE app_user SET is_admin = true;`, 'changes rows of the table public.app_user'],
  [
    'a trigger on a core table',
    `CREATE FUNCTION bad_f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
     CREATE TRIGGER bad_t AFTER INSERT ON customer FOR EACH ROW EXECUTE FUNCTION bad_f();`,
    'makes the trigger bad_t on public.customer',
  ],
  ['an index of a core table', 'CREATE INDEX bad_i ON customer (name);', 'makes the index public.bad_i'],
  [
    'a foreign key to a core table',
    'CREATE TABLE bad_a (id bigint REFERENCES customer (id));',
    'has a foreign key to the table public.customer',
  ],
  [
    'a function replaced',
    `CREATE OR REPLACE FUNCTION tell_changed_access() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';`,
    'function',
  ],
  ['the end of the transaction', 'CREATE TABLE bad_a (id int); COMMIT; DROP TABLE setting;', 'transaction'],
  ['a setting of the session', `CREATE TABLE bad_a (id int); SET statement_timeout = 0;`, 'setting statement_timeout'],
] as const)('an activation that fails leaves all as it was: %s', async ([, script, reason]) => {
  const before = await tables('');
  writePlugin(dataDir, 'bad/bad', {
    migrations: { '1_good.sql': 'CREATE TABLE bad_good (id int);', '2_bad.sql': script },
  });
  const answer = await activate('bad/bad');
  expect(answer).toMatchObject({ code: 'PLUGIN_ACTIVATION_FAILED' });
  expect(reasonOf(answer)).toContain(reason);
  const after = await pluginOf('bad/bad');
  expect(after).toMatchObject({ status: 'INACTIVE', isLive: false, firstActivatedAt: null });
  expect(after.error).toContain(reason);
  expect(await tables('')).toEqual(before);
  expect(labels()).not.toContain('bad/bad');
  expect(await queryRows(app.ctx.db, sql`SELECT 1 FROM plugin_migration WHERE vendor = 'bad'`)).toEqual([]);
});

test('what one deletion takes away is this plugin’s only', async () => {
  const hello = {
    '1_hello.sql':
      'CREATE TABLE twin_hello (id int); CREATE FUNCTION twin_f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;',
  };
  writePlugin(dataDir, 'twin/hello', { migrations: hello });
  writePlugin(dataDir, 'twin/world', {
    migrations: {
      '1_world.sql': 'CREATE TABLE twin_world (id serial); CREATE VIEW twin_view AS SELECT * FROM twin_world;',
      '1_world.down.sql': 'DROP VIEW twin_view;',
    },
  });
  await activate('twin/hello');
  await activate('twin/world');
  await deactivate('twin/world');
  expect(await remove('twin/world', { keepData: false })).toMatchObject({ name: 'world' });
  expect(await tables('twin_')).toEqual(['twin_hello']);

  // Another plugin of the same vendor may not touch it, by its migration or by taking it back.
  writePlugin(dataDir, 'twin/thief', { migrations: { '1_a.sql': 'ALTER TABLE twin_hello ADD COLUMN b int;' } });
  expect(reasonOf(await activate('twin/thief'))).toContain('changes the table public.twin_hello');
  writePlugin(dataDir, 'twin/thief', {
    migrations: { '1_a.sql': 'CREATE TABLE twin_a (id int);', '1_a.down.sql': 'DROP TABLE twin_hello, twin_a;' },
  });
  await activate('twin/thief');
  await deactivate('twin/thief');
  const refused = await remove('twin/thief', { keepData: false });
  expect(refused).toMatchObject({ code: 'PLUGIN_DELETION_FAILED' });
  expect(reasonOf(refused)).toContain('drops the table public.twin_hello');
  expect(await tables('twin_')).toEqual(['twin_a', 'twin_hello']);
  expect(await pluginOf('twin/thief')).toMatchObject({ status: 'INACTIVE' });
  expect(await remove('twin/thief')).toMatchObject({ name: 'thief' });
});

test.for([
  ['mail/anything', 'is taken: the'],
  ['campaign/anything', 'is taken: the'],
  ['twin-set/anything', 'cannot be told from that of the vendor "twin"'],
] as const)('a vendor whose prefix is another’s is refused: %s', async ([plugin, reason]) => {
  writePlugin(dataDir, plugin);
  expect(reasonOf(await activate(plugin))).toContain(reason);
  expect(await pluginOf(plugin)).toMatchObject({ status: 'INACTIVE', isLive: false });
});

test.for([
  ['acme/lists', undefined, '/api/v1/lists belongs to the product'],
  ['mailwright/mine', undefined, 'is that of the product itself'],
  ['acme/no-json', null, 'It has no package.json.'],
  ['acme/broken', '{', 'not valid JSON'],
  ['acme/other-name', manifestOf('acme/something'), 'in this folder it must be @acme/other-name'],
  ['acme/no-version', { ...manifestOf('acme/no-version'), version: undefined }, 'must be a version such as 1.0.0'],
  ['acme/no-entry', { ...manifestOf('acme/no-entry'), exports: './gone.ts' }, './gone.ts, which is not there'],
  ['acme/outside', { ...manifestOf('acme/outside'), exports: './../other/index.ts' }, 'must name the entry'],
  [
    'acme/no-key',
    { ...manifestOf('acme/no-key'), mailwright: undefined },
    'must be an object with the number "contract"',
  ],
  ['acme/newer', { ...manifestOf('acme/newer'), mailwright: { contract: 2 } }, 'Upgrade Mailwright'],
  ['acme/older', { ...manifestOf('acme/older'), mailwright: { contract: 0 } }, 'Install a newer version of the plugin'],
] as const)('a folder with a fault is shown with it, and is not activated: %s', async ([plugin, manifest, reason]) => {
  writePlugin(dataDir, plugin, manifest === undefined ? {} : { manifest });
  await discover();
  const found = await pluginOf(plugin);
  expect(found).toMatchObject({ status: 'INACTIVE', isLive: false });
  expect(found.fault).toContain(reason);
  expect(reasonOf(await activate(plugin))).toContain(reason);
});

test.for([
  ['throws when it is loaded', `throw new Error('no luck');`, 'no luck'],
  ['exports nothing', `export const other = 1;`, 'does not export "plugin"'],
  ['has another name', plainCode('acme/else'), 'is named "acme/else"'],
  [
    'throws in register()',
    `export const plugin = { name: 'acme/code', register() { throw new Error('no desk'); } };`,
    'no desk',
  ],
] as const)('code with a fault is shown with it: %s', async ([, code, reason]) => {
  writePlugin(dataDir, 'acme/code', { code });
  await discover();
  expect((await pluginOf('acme/code')).fault).toContain(reason);
  expect(reasonOf(await activate('acme/code'))).toContain(reason);
});

test('a boot() that throws leaves nothing, also in the database', async () => {
  writePlugin(dataDir, 'boot/fails', {
    migrations: { '1_a.sql': 'CREATE TABLE boot_a (id int);' },
    code: `export const plugin = { name: 'boot/fails', boot(hooks) {
      hooks.modify('sidebar-menu-items', (items) => [...items, { label: 'half', href: '/' }]);
      throw new Error('no boots');
    } };`,
  });
  expect(reasonOf(await activate('boot/fails'))).toContain('no boots');
  expect(await tables('boot_')).toEqual([]);
  expect(labels()).not.toContain('half');
  // Mended, it is activated.
  writePlugin(dataDir, 'boot/fails', { migrations: { '1_a.sql': 'CREATE TABLE boot_a (id int);' } });
  expect(await activate('boot/fails')).toMatchObject({ status: 'ACTIVE', error: null });
});

test('a new version brings migrations; one that was applied may not change', async () => {
  const first = { '1_a.sql': 'CREATE TABLE more_a (id int);' };
  writePlugin(dataDir, 'more/more', { migrations: first });
  await activate('more/more');
  await deactivate('more/more');
  writePlugin(dataDir, 'more/more', {
    version: '1.1.0',
    migrations: { ...first, '2_b.sql': 'ALTER TABLE more_a RENAME TO more_b; INSERT INTO more_b VALUES (1);' },
  });
  expect(await activate('more/more')).toMatchObject({ version: '1.1.0' });
  expect(await tables('more_')).toEqual(['more_b']);
  await deactivate('more/more');
  writePlugin(dataDir, 'more/more', { migrations: { '1_a.sql': 'CREATE TABLE more_a (id bigint);' } });
  expect(reasonOf(await activate('more/more'))).toContain('1_a.sql was changed after it was applied');
  expect(await remove('more/more', { keepData: false })).toMatchObject({ name: 'more' });
  expect(await tables('more_')).toEqual([]);
});

test('a plugin of the product is active from the start, may be deactivated, and stays', async () => {
  const types = () => app.hooks.collect('register_sending_server_driver').map(({ type }) => type);
  expect(await pluginOf('mailwright/smtp')).toMatchObject({ status: 'ACTIVE', isLive: true });
  expect(types()).toContain('smtp');
  expect(await remove('mailwright/smtp')).toMatchObject({ code: 'PLUGIN_IS_ACTIVE' });
  await deactivate('mailwright/smtp');
  expect(types()).not.toContain('smtp');
  expect(await remove('mailwright/smtp')).toMatchObject({ code: 'PLUGIN_IS_BUNDLED' });
  await activate('mailwright/smtp');
  expect(types()).toContain('smtp');
});

test('only administrators see and change plugins', async () => {
  const { token } = await app.newTenant();
  const stranger = pluginClient({ baseUrl: app.baseUrl, token });
  expect(await stranger.plugin('mailwright/smtp')).toMatchObject({ code: 'FORBIDDEN' });
  expect(await stranger.deactivate('mailwright/smtp')).toMatchObject({ code: 'FORBIDDEN' });
  expect(await pluginOf('mailwright/smtp')).toMatchObject({ status: 'ACTIVE' });
});

test('REST does the same, and every change is in the audit trail', async () => {
  writePlugin(dataDir, 'rest/rest', { migrations: { '1_a.sql': 'CREATE TABLE rest_a (id int);' } });
  const activated = await app.rest('/plugins/rest/rest/activate', { method: 'POST' });
  expect(activated).toMatchObject({ status: 200, body: { status: 1, plugin: { status: 'active', is_live: true } } });
  const { body } = await app.rest('/plugins');
  expect(body).toEqual(
    expect.arrayContaining([expect.objectContaining({ vendor: 'rest', name: 'rest', error: null })]),
  );
  const active = await app.rest('/plugins/rest/rest', { method: 'DELETE' });
  expect(active).toMatchObject({ status: 422, body: { errors: { status: ['Deactivate the plugin first.'] } } });
  expect(await app.rest('/plugins/rest/rest/deactivate', { method: 'POST' })).toMatchObject({ status: 200 });
  expect(await app.rest('/plugins/rest/rest', { method: 'DELETE', body: { keep_data: 0 } })).toMatchObject({
    status: 200,
  });
  expect(await tables('rest_')).toEqual([]);
  expect(await app.rest('/plugins/rest/rest/activate', { method: 'POST' })).toMatchObject({ status: 404 });
  const rows = await queryRows<{ operation: string }>(
    app.ctx.db,
    sql`SELECT operation FROM hot.audit_event WHERE target_uid = 'rest/rest' ORDER BY id`,
  );
  expect(rows.map(({ operation }) => operation)).toEqual(['activatePlugin', 'deactivatePlugin', 'deletePlugin']);
});

test('a plugin may not have the name of a part of the REST interface', () => {
  const parts = new Set(rows.map(({ path }) => path.split('/')[1] ?? ''));
  const possible = [...parts].filter((part) => NAME_PATTERN.test(part));
  expect(possible.filter((part) => !RESERVED_NAMES.has(part))).toEqual([]);
});
