/** Addresses and files of plugins below `/plugins/<vendor>/<name>`, on the running product. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { pluginClient, type Answered } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { rawRequest } from '../support/raw-request.ts';
import { switchedOnByAll } from '../support/switched-on-by-all.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const { activate, deactivate } = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const BASE = `${app.baseUrl}/plugins/acme/notes`;
const tenant = await app.newTenant();
await switchedOnByAll(app.ctx, 'acme/notes');
const cookie = await sessionOf(tenant);

const CODE = `
  const routes = [
    { method: 'GET', path: '/', handle: ({ viewer }) => ({ html: '<h1>' + viewer.userUid + '</h1>' }) },
    { method: 'GET', path: '/data/:name', auth: 'public', handle: ({ params, query, viewer, method }) => ({ json: { params, query, viewer, method } }) },
    { method: 'POST', path: '/form', handle: ({ form, contentType, viewer }) => ({ json: { form, contentType, isAdmin: viewer.isAdmin } }) },
    { method: 'POST', path: '/hook', auth: 'public', handle: ({ body, viewer }) => ({ text: new TextDecoder().decode(body) + (viewer ? ' known' : '') }) },
    { method: 'DELETE', path: '/form', auth: 'admin', handle: () => ({ redirect: '/plugins/acme/notes' }) },
    { method: 'GET', path: '/download', auth: 'public', handle: () => ({ bytes: new Uint8Array([1, 2]), contentType: 'image/svg+xml', fileName: 'a.svg' }) },
    { method: 'GET', path: '/page', auth: 'public', handle: ({ fileUrl }) => ({ html: '<script src="' + fileUrl('app.js') + '"></script>', usesOwnScripts: true }) },
    { method: 'GET', path: '/empty', auth: 'public', handle: () => ({ status: 204 }) },
    ...Object.entries({
      throw: () => { throw new Error('a secret reason'); },
      reject: async () => { throw new Error('another reason'); },
      nothing: () => undefined,
      two: () => ({ html: '', text: '' }),
      header: () => ({ headers: { 'Set-Cookie': 'a=b' } }),
      elsewhere: () => ({ redirect: 'https://evil.example/' }),
      slashes: () => ({ redirect: '//evil.example/' }),
      large: () => ({ text: 'x'.repeat(6_000_000) }),
      circle: () => { const json = {}; json.json = json; return { json }; },
    }).map(([name, handle]) => ({ method: 'GET', path: '/faults/' + name, auth: 'public', handle })),
  ];
  export const plugin = { name: 'acme/notes', boot(hooks) { for (const route of routes) hooks.add('route', route); } };`;

const FILES = {
  'resources/public/app.js': 'document.title = "app";',
  'resources/public/style.css': 'body{}',
  'resources/public/icons/a.svg': '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  'resources/public/page.html': '<script>alert(1)</script>',
  'resources/public/thing.xyz': 'unknown',
  'resources/secret.txt': 'CANARY',
  'secret.txt': 'CANARY',
};

async function sessionOf({ email, password }: RestTenant): Promise<string> {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: app.baseUrl },
    body: JSON.stringify({
      query: 'mutation ($input: SignInInput!) { signIn(input: $input) { __typename } }',
      variables: { input: { email, password } },
    }),
  });
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

const ask = (place: string, init: RequestInit = {}) => fetch(BASE + place, { redirect: 'manual', ...init });
const reasonOf = ({ fields = [] }: Answered) => fields.flatMap(({ messages }) => messages).join(' ');
const OWN = { Cookie: cookie, Origin: app.baseUrl };

test('routes and files answer while the plugin is active', async () => {
  expect(cookie).toContain('mailwright_session=');
  expect((await ask('/data/a')).status).toBe(404);
  const folder = writePlugin(dataDir, 'acme/notes', { code: CODE, files: FILES });
  symlinkSync(path.join(folder, 'secret.txt'), path.join(folder, 'resources/public/link.txt'));
  symlinkSync(folder, path.join(folder, 'resources/public/up'));
  mkdirSync(path.join(folder, 'resources/public/folder.txt'));
  writeFileSync(path.join(folder, 'resources/public/.hidden'), 'CANARY');
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE', error: null });
  expect((await ask('/data/a')).status).toBe(200);
  expect((await ask('/files/app.js')).status).toBe(200);
  await deactivate('acme/notes');
  expect((await ask('/data/a')).status).toBe(404);
  expect((await ask('/files/app.js')).status).toBe(404);
  await activate('acme/notes');
  expect((await ask('/data/a')).status).toBe(200);
});

test('who asks', async () => {
  expect((await ask('')).status).toBe(401);
  const other = cookie.endsWith('x') ? 'y' : 'x';
  expect((await ask('', { headers: { Cookie: `${cookie.slice(0, -1)}${other}` } })).status).toBe(401);
  const page = await ask('', { headers: { Cookie: cookie } });
  expect(page.status).toBe(200);
  expect(await page.text()).toMatch(/^<h1>[0-9a-f]{13}<\/h1>$/);
  expect(page.headers.get('content-security-policy')).toBe(
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  // An API token is no session.
  expect((await ask('', { headers: { Authorization: `Bearer ${tenant.token}` } })).status).toBe(401);
  // A picture or frame of another site has no session.
  const foreign = { Cookie: cookie, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' };
  expect((await ask('', { headers: foreign })).status).toBe(401);
  expect(await (await ask('/data/a%20b?x=1&x=2')).json()).toEqual({
    ...{ params: { name: 'a b' }, query: { x: '1' }, viewer: null, method: 'GET' },
  });
  expect((await ask('/data/a', { method: 'HEAD' })).status).toBe(200);
  const wrong = await ask('/form');
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST, DELETE']);
  expect((await ask('/nothing')).status).toBe(404);
});

test('changes must come from a page of the installation', async () => {
  const form = { method: 'POST', body: new URLSearchParams({ text: 'a', more: 'b' }) };
  const answer = await ask('/form', { ...form, headers: OWN });
  expect(await answer.json()).toEqual({
    ...{ form: { text: 'a', more: 'b' }, contentType: 'application/x-www-form-urlencoded', isAdmin: false },
  });
  const without = async (headers: Record<string, string>) => (await ask('/form', { ...form, headers })).status;
  expect(await without({ Cookie: cookie })).toBe(401);
  expect(await without({ Cookie: cookie, Origin: 'https://evil.example' })).toBe(403);
  expect(await without({ Cookie: cookie, Origin: 'null', 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
  expect(await without({ Cookie: cookie, Origin: app.baseUrl, 'Sec-Fetch-Site': 'same-site' })).toBe(403);
  expect(await without({ Origin: app.baseUrl })).toBe(401);
  expect((await ask('/form', { method: 'DELETE', headers: OWN })).status).toBe(403);
  // A public address takes what other programs send, but nothing from another site's page.
  const hook = { method: 'POST', body: 'hello' };
  expect(await (await ask('/hook', hook)).text()).toBe('hello');
  expect((await ask('/hook', { ...hook, headers: { Origin: 'https://evil.example' } })).status).toBe(403);
  expect((await ask('/hook', { ...hook, body: 'x'.repeat(300_000) })).status).toBe(413);
});

test('answers are data, with headers of Mailwright', async () => {
  const download = await ask('/download');
  expect(Object.fromEntries(download.headers)).toMatchObject({
    'content-type': 'image/svg+xml',
    'content-disposition': 'attachment; filename="a.svg"',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'",
  });
  const page = await ask('/page');
  expect(page.headers.get('content-security-policy')).toContain(`script-src ${BASE}/files/; connect-src 'self';`);
  const [, src = ''] = /src="([^"]*)"/.exec(await page.text()) ?? [];
  const script = await fetch(app.baseUrl + src);
  expect(await script.text()).toBe('document.title = "app";');
  expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect((await ask('/empty')).status).toBe(204);
});

test('a route that fails is contained', async () => {
  for (const kind of ['throw', 'reject', 'nothing', 'two', 'header', 'elsewhere', 'slashes', 'large', 'circle']) {
    const answer = await ask(`/faults/${kind}`);
    expect([kind, answer.status]).toEqual([kind, 500]);
    expect(await answer.json()).toEqual({ message: 'The plugin acme/notes failed. The reason is in the log.' });
  }
  const logged = () => app.logged.map((line) => JSON.parse(line)).filter(({ hook }) => hook === 'route');
  // Equal lines of one second are written a moment later.
  await expect.poll(() => logged().length, { timeout: 120_000 }).toBe(9);
  expect(logged()[0]).toMatchObject({
    event: 'hook.listener_failed',
    plugin: 'acme/notes',
    message: 'a secret reason',
  });
});

test('files have a type, do nothing by themselves, and are kept by browsers', async () => {
  const types = {
    'app.js': 'text/javascript; charset=utf-8',
    'style.css': 'text/css; charset=utf-8',
    'icons/a.svg': 'image/svg+xml',
    'page.html': 'text/html; charset=utf-8',
    'thing.xyz': 'application/octet-stream',
  };
  for (const [name, type] of Object.entries(types)) {
    const { headers, status } = await ask(`/files/${name}`);
    expect([status, headers.get('content-type')]).toEqual([200, type]);
    expect(headers.get('content-security-policy')).toContain('sandbox');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
  expect((await ask('/files/thing.xyz')).headers.get('content-disposition')).toBe('attachment');
  const first = await ask('/files/style.css');
  expect(first.headers.get('cache-control')).toBe('no-cache');
  const etag = first.headers.get('etag') ?? '';
  expect((await ask('/files/style.css', { headers: { 'If-None-Match': etag } })).status).toBe(304);
  expect((await ask('/files/style.css', { method: 'POST' })).status).toBe(405);
});

/** Spellings of ways out of a folder (hard case F9). */
function spellings(): string[] {
  const dots = [
    '..',
    '%2e%2e',
    '.%2e',
    '%2e.',
    '%252e%252e',
    '%c0%ae%c0%ae',
    '..%00',
    '...',
    '. .',
    '..;',
    '%uff0e%uff0e',
    '．．',
  ];
  const slashes = ['/', '%2f', '%5c', '\\', '%252f', '%c0%af', '//', '/./'];
  const ups = dots.flatMap((dot) =>
    slashes.flatMap((slash) => [`${dot}${slash}secret.txt`, `${dot}${slash}${dot}${slash}secret.txt`]),
  );
  const others = [
    ...[
      '/etc/passwd',
      '//etc/passwd',
      '%2fetc%2fpasswd',
      'C:/secret.txt',
      'C:%5csecret.txt',
      '%5c%5chost%5cshare',
      'file:///etc/passwd',
    ],
    ...[
      'link.txt',
      'up/secret.txt',
      'up/package.json',
      'folder.txt',
      'folder.txt/',
      '.hidden',
      '%2ehidden',
      'icons/../../secret.txt',
      '',
    ],
    ...[
      'app.js%00.txt',
      'app.js%00',
      'app.js/',
      'app.js/..',
      'app.js::$DATA',
      'app.js%20',
      'app.js.',
      'APP.JS/../../secret.txt',
      '%',
    ],
    ...[
      'a'.repeat(5_000),
      'a/'.repeat(500),
      '../'.repeat(50) + 'etc/passwd',
      '%2e%2e%2f'.repeat(50) + 'etc/passwd',
      '~root',
      '$HOME',
      '|ls',
    ],
  ];
  return [...ups, ...others];
}

test('no spelling leads out of the folder', async () => {
  const all = spellings();
  expect(all.length).toBeGreaterThanOrEqual(200);
  const answered = new Set<number>();
  for (const spelling of all) {
    // As bytes: `fetch` would shorten the paths itself.
    const { status, body } = await rawRequest(app.baseUrl, { line: `GET /plugins/acme/notes/files/${spelling}` });
    expect(JSON.stringify(body), spelling).not.toMatch(/CANARY|root:/);
    answered.add(status);
  }
  expect([...answered].filter((status) => status === 200)).toEqual([]);
});

test.for([
  ['the files', `path: '/files/a'`, 'served by Mailwright'],
  ['the pages', `path: '/pages'`, 'served by Mailwright'],
  ['a pattern', `path: '/a/*'`, '"path"'],
  ['another way to log in', `auth: 'token'`, '"auth"'],
  ['no function', `handle: 1`, '"handle"'],
  ['another method', `method: 'TRACE'`, '"method"'],
] as const)('a route with %s is refused', async ([, change, reason]) => {
  const code = `export const plugin = { name: 'acme/bad', boot: (hooks) =>
    hooks.add('route', { method: 'GET', path: '/a', handle: () => ({}), ${change} }) };`;
  writePlugin(dataDir, 'acme/bad', { code });
  const answer = await activate('acme/bad');
  expect(reasonOf(answer)).toContain(reason);
  expect(reasonOf(answer)).toContain('Plugin "acme/bad" adds to the hook "route" what cannot be used');
});
