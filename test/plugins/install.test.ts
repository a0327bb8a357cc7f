/** Installing plugins on the running product: from an address and from a file, versions, going back, and what is refused. */
import { existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newSigner, pluginArchive, sha256Of, startWebServer, type PluginFiles } from '../support/plugin-archive.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { manifestOf, newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';
import { zipOf } from '../support/archives.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const labels = () =>
  app.hooks.filter('sidebar-menu-items', []).map(({ label }) => (typeof label === 'string' ? label : label.key));

const served = new Map<string, Buffer>();
/** How an answer is held up: the rest comes when the promise is done. */
let rest: Promise<void> | undefined;
const origin = await startWebServer((req, res) => {
  if (req.url === '/moved') return void res.writeHead(302, { location: '/plugin' }).end();
  const bytes = served.get(req.url ?? '');
  if (!bytes) return void res.writeHead(404).end();
  if (!rest) return void res.end(bytes);
  res.write(bytes.subarray(0, 100));
  const timer = setInterval(() => res.write(' '), 50);
  void rest.then(() => {
    clearInterval(timer);
    res.end();
  });
});

interface Answer {
  readonly status: number;
  readonly body: { message: string; errors: Record<string, string[]>; package: Record<string, unknown> } & Record<
    string,
    unknown
  >;
}

async function ask(
  method: string,
  where: string,
  fields: object | FormData = {},
  token = app.adminToken,
): Promise<Answer> {
  const isForm = fields instanceof FormData;
  const response = await fetch(`${app.baseUrl}/api/v1${where}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json',
      ...(isForm ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(method === 'GET' ? {} : { body: isForm ? fields : JSON.stringify(fields) }),
  });
  return { status: response.status, body: await response.json() };
}

const install = (bytes: Buffer, fields: object = {}) => {
  served.set('/plugin', bytes);
  return ask('POST', '/plugins/install', { url: `${origin}/plugin`, sha256: sha256Of(bytes), ...fields });
};
const upload = (bytes: Buffer, fields: Record<string, string> = {}) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(bytes)]), 'plugin.tgz');
  return ask('POST', '/plugins/install', form);
};
const archive = (plugin: string, files?: PluginFiles) => pluginArchive(plugin, files);
const linkOf = (plugin: string) => readlinkSync(path.join(dataDir, 'plugins', plugin));
const versionsOf = (plugin: string) => readdirSync(path.join(dataDir, 'plugins', '.versions', plugin)).toSorted();

test('a plugin from an address is checked, unpacked and inactive; then it can be activated', async () => {
  const { status, body } = await install(archive('acme/first', { format: 'zip', top: '' }));
  expect({ status, body }).toMatchObject({
    status: 201,
    body: {
      status: 1,
      package: { state: 'ready', plugin: 'acme/first', version: '1.0.0', place: 'current', reason: null },
    },
  });
  expect(await client.plugin('acme/first')).toMatchObject({ status: 'INACTIVE', version: '1.0.0', fault: null });
  expect(labels()).not.toContain('acme/first 1.0.0');
  expect(await client.activate('acme/first')).toMatchObject({ status: 'ACTIVE', isLive: true });
  expect(labels()).toContain('acme/first 1.0.0');
  expect((await ask('GET', `/plugins/packages/${String(body.package['uid'])}`)).body.package).toEqual(body.package);
});

test('a plugin from a file of a form', async () => {
  const bytes = archive('acme/upload');
  expect(await upload(bytes, { sha256: sha256Of(bytes) })).toMatchObject({
    ...{
      status: 201,
      body: { package: { state: 'ready', plugin: 'acme/upload', url: null, size_bytes: bytes.length } },
    },
  });
  expect(await client.activate('acme/upload')).toMatchObject({ isLive: true });
});

test('a new version of an active plugin waits for its activation; the former one can be used again', async () => {
  await install(archive('acme/next'));
  await client.activate('acme/next');
  const old = linkOf('acme/next');
  const second = await install(
    archive('acme/next', { version: '2.0.0', migrations: { '1_a.sql': 'CREATE TABLE acme_next (id int);' } }),
  );
  expect(second.body.package).toMatchObject({ version: '2.0.0', place: 'waiting' });
  await client.discover();
  expect(labels()).toContain('acme/next 1.0.0');
  expect(linkOf('acme/next')).toBe(old);
  const waiting = (await ask('GET', '/plugins')).body as unknown as { name: string }[];
  expect(waiting.find(({ name }) => name === 'next')).toMatchObject({ version: '1.0.0', waiting_version: '2.0.0' });

  expect(await client.activate('acme/next')).toMatchObject({ version: '2.0.0', isLive: true });
  expect(labels().filter((label) => label.startsWith('acme/next'))).toEqual(['acme/next 2.0.0']);
  expect(linkOf('acme/next')).not.toBe(old);
  expect(versionsOf('acme/next')).toHaveLength(2);

  // And back, while it is active, and forth, while it is not.
  expect(await ask('POST', '/plugins/acme/next/rollback')).toMatchObject({
    ...{
      status: 200,
      body: { plugin: { version: '1.0.0', status: 'active', is_live: true, former_version: '2.0.0' } },
    },
  });
  expect(labels().filter((label) => label.startsWith('acme/next'))).toEqual(['acme/next 1.0.0']);
  expect(linkOf('acme/next')).toBe(old);
  await client.deactivate('acme/next');
  expect((await ask('POST', '/plugins/acme/next/rollback')).body).toMatchObject({ plugin: { version: '2.0.0' } });
  expect(await client.activate('acme/next')).toMatchObject({ version: '2.0.0' });
});

test('a new version that cannot be activated changes nothing, and waits on', async () => {
  await install(archive('acme/bad'));
  await client.activate('acme/bad');
  const old = linkOf('acme/bad');
  for (const [version, files] of [
    ['2.0.0', { code: `export const plugin = { name: 'acme/bad', boot() { throw new Error('no boot'); } };` }],
    ['3.0.0', { migrations: { '1_a.sql': 'SELECT 1 / 0;' } }],
  ] as const) {
    expect((await install(archive('acme/bad', { version, ...files }))).status).toBe(201);
    expect(await client.activate('acme/bad')).toMatchObject({ code: 'PLUGIN_ACTIVATION_FAILED' });
    expect(await client.plugin('acme/bad')).toMatchObject({ status: 'ACTIVE', version: '1.0.0', isLive: true });
    expect(labels().filter((label) => label.startsWith('acme/bad'))).toEqual(['acme/bad 1.0.0']);
    expect(linkOf('acme/bad')).toBe(old);
  }
  expect(await ask('POST', '/plugins/acme/bad/rollback')).toMatchObject({
    ...{ status: 422, body: { message: 'No earlier version of this plugin is kept.' } },
  });
});

test('a new version that wants more says so before it is activated', async () => {
  await install(archive('acme/more'));
  expect(await client.activate('acme/more')).toMatchObject({ isLive: true, isNewGrantNeeded: false });
  const manifest = manifestOf('acme/more', '2.0.0', { scopes: ['lists:read'] });
  await install(archive('acme/more', { version: '2.0.0', manifest }));
  expect(await client.plugin('acme/more')).toMatchObject({ version: '1.0.0', isLive: true, isNewGrantNeeded: true });
  const shown = (await ask('GET', '/plugins')).body as unknown as { name: string }[];
  expect(shown.find(({ name }) => name === 'more')).toMatchObject({
    ...{ is_new_grant_needed: true, new_rights: { scopes: ['lists:read'], hosts: [], tables: false } },
  });
  expect(await client.activate('acme/more')).toMatchObject({ code: 'PLUGIN_GRANT_NEEDED' });
  expect(await client.activate('acme/more', { scopes: ['lists:read'] })).toMatchObject({
    ...{ version: '2.0.0', isLive: true, isNewGrantNeeded: false },
  });
});

test('a version that is installed while the one before is being activated does not take its archive away', async () => {
  await install(archive('acme/twice'));
  await client.activate('acme/twice');
  const gate = { begun: false, ...Promise.withResolvers<void>() };
  Object.assign(globalThis, { gateOfTwice: gate });
  const slow = `globalThis.gateOfTwice.begun = true; await globalThis.gateOfTwice.promise; export const plugin = { name: 'acme/twice' };`;
  await install(archive('acme/twice', { version: '2.0.0', code: slow }));
  const activating = client.activate('acme/twice');
  await expect.poll(() => gate.begun).toBe(true);
  // Its answer waits for the activation.
  const installing = install(archive('acme/twice', { version: '3.0.0' }));
  const kept = sql`SELECT 1 FROM plugin_package WHERE name = 'twice' AND version = '3.0.0' AND place = 'waiting'`;
  await expect.poll(() => queryRows(app.ctx.db, kept)).toHaveLength(1);
  gate.resolve();
  expect(await installing).toMatchObject({ status: 201 });
  expect(await activating).toMatchObject({ code: 'PLUGIN_ACTIVATION_FAILED' });
  expect(await client.plugin('acme/twice')).toMatchObject({
    ...{ version: '1.0.0', isLive: true, error: expect.stringMatching(/installed meanwhile/) },
  });
  expect(await client.activate('acme/twice')).toMatchObject({ version: '3.0.0', isLive: true });
  const empty = sql`SELECT k.version FROM plugin_package k WHERE place IS NOT NULL AND name = 'twice'
                       AND NOT EXISTS (SELECT FROM plugin_package_piece p WHERE p.package_id = k.id)`;
  expect(await queryRows(app.ctx.db, empty)).toEqual([]);
});

test('what a killed process with the same number has left is removed', async () => {
  await install(archive('acme/left'));
  const left = path.join(dataDir, 'plugins', '.versions', `.incoming-${process.pid}-left`);
  mkdirSync(left);
  utimesSync(left, 0, 0);
  await client.discover();
  expect(existsSync(left)).toBe(false);
});

test('deleting a plugin removes its versions and its packages; installing the same again changes nothing', async () => {
  const bytes = archive('acme/gone');
  await install(bytes);
  expect((await install(bytes)).body.package).toMatchObject({ state: 'ready', place: null });
  expect(versionsOf('acme/gone')).toHaveLength(1);
  expect(await client.remove('acme/gone')).toMatchObject({ name: 'gone' });
  expect(existsSync(path.join(dataDir, 'plugins/acme/gone'))).toBe(false);
  expect(existsSync(path.join(dataDir, 'plugins/.versions/acme/gone'))).toBe(false);
  await client.discover();
  expect(await client.plugin('acme/gone')).toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
  const kept = sql`SELECT k.id FROM plugin_package k WHERE name = 'gone'`;
  expect(await queryRows(app.ctx.db, kept)).toEqual([]);
});

test('another machine, or one whose folders are lost, unpacks what the database has', async () => {
  await install(archive('acme/again'));
  const before = linkOf('acme/again');
  rmSync(path.join(dataDir, 'plugins', '.versions'), { recursive: true });
  rmSync(path.join(dataDir, 'plugins', 'acme', 'again'));
  await client.discover();
  expect(linkOf('acme/again')).toBe(before);
  expect(await client.activate('acme/again')).toMatchObject({ isLive: true });
});

const good = archive('acme/refused');
test.for<[string, () => Promise<Answer>, string, RegExp]>([
  ['no checksum', () => ask('POST', '/plugins/install', { url: `${origin}/plugin` }), 'sha256', /checksum/],
  ['a wrong checksum', () => install(good, { sha256: 'a'.repeat(64) }), 'url', /is [0-9a-f]{64}, and not/],
  ['a checksum that is none', () => install(good, { sha256: 'abc' }), 'sha256', /64 hexadecimal/],
  ['no address', () => ask('POST', '/plugins/install', {}), 'url', /address/],
  ['an unknown address', () => install(good, { url: `${origin}/none` }), 'url', /answered 404/],
  ['a redirect', () => install(good, { url: `${origin}/moved` }), 'url', /redirects are not followed/],
  ['a private address', () => install(good, { url: 'http://10.0.0.1/plugin' }), 'url', /not a public address/],
  ['another protocol', () => install(good, { url: 'file:///etc/passwd' }), 'url', /http or https/],
  ['no archive', () => install(Buffer.from('<html>')), 'url', /neither a zip nor a tgz/],
  [
    'a path that leads out',
    () => install(archive('acme/refused', { more: [{ name: 'package/../../x' }] })),
    'url',
    /lead out/,
  ],
  ['no package.json', () => install(zipOf([{ name: 'index.ts' }])), 'url', /no package.json/],
  [
    'a wrong package.json',
    () => upload(archive('acme/refused', { manifest: { name: 'acme/refused' } })),
    'file',
    /version/,
  ],
  [
    'no entry',
    () => upload(archive('a/b', { manifest: { ...manifest('a/b'), exports: './none.ts' } })),
    'file',
    /not there/,
  ],
  ['the vendor of the product', () => upload(archive('mailwright/smtp')), 'file', /the product itself/],
  ['a name that leads out', () => upload(archive('../x')), 'file', /must have a name/],
  [
    'a later contract',
    () => upload(archive('a/b', { manifest: { ...manifest('a/b'), mailwright: { contract: 99 } } })),
    'file',
    /Upgrade Mailwright/,
  ],
])('%s: refused, and nothing was written', async ([, act, field, reason]) => {
  const list = () => readdirSync(path.join(dataDir, 'plugins'), { recursive: true }).map(String).toSorted();
  const before = list();
  const { status, body } = await act();
  expect({ status, field: body.errors?.[field]?.join(' ') ?? body }).toEqual({
    status: 422,
    field: expect.stringMatching(reason),
  });
  expect(list()).toEqual(before);
  const open = sql`SELECT k.id FROM plugin_package k WHERE state IN ('uploading', 'downloading', 'checking')`;
  expect(await queryRows(app.ctx.db, open)).toEqual([]);
});

function manifest(name: string): object {
  return { name, version: '1.0.0', exports: './index.ts', mailwright: { contract: 1 } };
}

test('a folder that somebody has put there is not replaced', async () => {
  writePlugin(dataDir, 'acme/own');
  await client.discover();
  const { status, body } = await install(archive('acme/own', { version: '2.0.0' }));
  expect({ status, url: body.errors['url']?.join(' ') }).toEqual({
    status: 422,
    url: expect.stringMatching(/not installed this way/),
  });
  expect(await client.plugin('acme/own')).toMatchObject({ version: '1.0.0' });
});

test('a download shows its progress and can be cancelled; only one runs at a time', async () => {
  let end: () => void = () => undefined;
  rest = new Promise((resolve) => (end = resolve));
  const running = install(archive('acme/slow'));
  await expect.poll(async () => Number((await underWay())?.['size_bytes'])).toBeGreaterThan(100);
  expect(await ask('POST', '/plugins/install', { url: `${origin}/plugin`, sha256: 'a'.repeat(64) })).toMatchObject({
    ...{ status: 422, body: { message: 'Another plugin is being installed. Wait for it, or cancel it.' } },
  });
  const uid = String((await underWay())?.['uid']);
  expect((await ask('POST', `/plugins/packages/${uid}/cancel`)).body.package).toMatchObject({ state: 'cancelled' });
  expect(await running).toMatchObject({ status: 422, body: { message: expect.stringMatching(/cancelled/) } });
  end();
  rest = undefined;
  expect(await ask('POST', `/plugins/packages/${uid}/cancel`)).toMatchObject({ status: 422 });
  expect((await ask('GET', `/plugins/packages/${'0'.repeat(13)}`)).status).toBe(404);
});

async function underWay(): Promise<Record<string, unknown> | undefined> {
  const all = (await ask('GET', '/plugins/packages')).body as unknown as Record<string, unknown>[];
  return all.find(({ state }) => state === 'downloading');
}

test('only administrators install', async () => {
  const { token } = await app.newTenant();
  for (const where of ['/plugins/install', '/plugins/acme/first/rollback', '/plugins/packages/x/cancel'])
    expect((await ask('POST', where, {}, token)).status).toBe(403);
  expect((await ask('GET', '/plugins/packages', {}, token)).status).toBe(403);
});

test('with keys of its own an installation takes what one of them has signed, and nothing else', async () => {
  const [ours, other] = [newSigner(), newSigner()];
  const strict = await startRestApp({
    ...{
      DATA_DIR: newDataDir(),
      ROLES: 'web,worker',
      PLUGIN_KEYS: `${newSigner().key},${ours.key}`,
      PLUGIN_CHECKSUM: 'optional',
    },
    OUTBOUND_ALLOW_HOSTS: '127.0.0.1',
  });
  const bytes = archive('acme/signed');
  served.set('/signed', bytes);
  const send = (fields: object) =>
    strict.rest('/plugins/install', { method: 'POST', body: { url: `${origin}/signed`, ...fields } });
  expect(await send({})).toMatchObject({
    status: 422,
    body: { errors: { signature: [expect.stringMatching(/required/)] } },
  });
  expect(await send({ signature: other.sign(bytes) })).toMatchObject({
    status: 422,
    body: { errors: { url: [expect.stringMatching(/No key/)] } },
  });
  expect(await send({ signature: ours.sign(Buffer.from('other')) })).toMatchObject({ status: 422 });
  expect(await send({ signature: ours.sign(bytes) })).toMatchObject({
    status: 201,
    body: { package: { state: 'ready' } },
  });
});
