/**
 * A session that is older than some minutes is not enough to take over the installation: to install or activate a plugin, to upgrade the
 * program, or to make a credential or an administrator that could. API tokens are, as before.
 */
import { beforeAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { sessionCookieOf } from '../support/pages-plugin.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir });
const tenant = await app.newTenant();
const sha256 = 'a'.repeat(64);
const signature = `${'A'.repeat(86)}==`;
const url = 'https://plugins.example/notes.tgz';

let cookie = '';
let own = { userUid: '', tokenUid: '' };
beforeAll(async () => {
  writePlugin(dataDir, 'acme/notes');
  cookie = await sessionCookieOf(app, app.adminToken);
  const [found] = await app.ctx.db.query(
    { userUid: 'text', tokenUid: 'text' },
    sql`SELECT u.uid AS "userUid", t.uid AS "tokenUid" FROM api_token t JOIN app_user u ON u.id = t.user_id
         WHERE t.kind <> 'session' AND u.is_admin LIMIT 1`,
  );
  own = found ?? own;
});

/** The code of the error, or the type of the answer. */
async function answer(mutation: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ query: `mutation { it: ${mutation} { __typename ... on Error { code } } }` }),
  });
  const { data, errors } = await response.json();
  expect(errors).toBeUndefined();
  return data.it.code ?? data.it.__typename;
}

const bySession = (mutation: string) =>
  answer(mutation, {
    Cookie: cookie,
    Origin: app.baseUrl,
    'Sec-Fetch-Site': 'same-origin',
    'User-Agent': 'Firefox/140',
  });
const byToken = (mutation: string) => answer(mutation, { Authorization: `Bearer ${app.adminToken}` });
const loggedIn = (minutes: number) =>
  app.ctx.db.execute(
    sql`UPDATE api_token SET created_at = now() - make_interval(mins => ${minutes}::int) WHERE kind = 'session'`,
  );

const ACTS = (): Readonly<Record<string, readonly [mutation: string, otherwise: string]>> => ({
  'activating a plugin': ['activatePlugin(input: { vendor: "acme", name: "notes" })', 'Plugin'],
  'a download of a plugin': [`installPlugin(input: { url: "${url}", sha256: "${sha256}" })`, 'PLUGIN_PACKAGE_REFUSED'],
  'an upload of a plugin': [`startPluginUpload(input: { sha256: "${sha256}" })`, 'PluginPackage'],
  'an upgrade': [
    `runUpgrade(input: { url: "${url}", sha256: "${sha256}", signature: "${signature}" })`,
    'UPGRADE_NOT_POSSIBLE',
  ],
  'the end of an upgrade': ['finalizeUpgrade', 'UPGRADE_NOT_STAGED'],
  'an API token': ['createApiToken(input: { name: "for later" })', 'CreatedApiToken'],
  'a login link': ['createLoginLink(input: {})', 'LoginLink'],
  'making an administrator': [`setAdministrator(input: { userUid: "${own.userUid}", isAdmin: true })`, 'User'],
});

test.each(Object.keys(ACTS()))('%s needs a login of the last minutes', async (act) => {
  const [mutation, otherwise] = ACTS()[act] ?? ['', ''];
  await loggedIn(16);
  expect(await bySession(mutation)).toBe('LOGIN_TOO_OLD');
  await loggedIn(14);
  expect(await bySession(mutation)).toBe(otherwise);
  if (act !== 'an upload of a plugin') expect(await byToken(mutation)).toBe(otherwise);
});

test('giving a token a new text does, too', async () => {
  await loggedIn(16);
  const made = await app.rest('/api_tokens', { method: 'POST', token: app.adminToken, body: { name: 'rotated' } });
  const { uid } = (made.body as { api_token: { uid: string } }).api_token;
  expect(await bySession(`rotateApiToken(uid: "${uid}")`)).toBe('LOGIN_TOO_OLD');
});

test('everyday acts do not, nor do tokens of customers', async () => {
  await loggedIn(600);
  expect(await bySession('deactivatePlugin(input: { vendor: "acme", name: "notes" })')).toBe('Plugin');
  const other = await sessionCookieOf(app, tenant.token);
  await loggedIn(600);
  const headers = { Cookie: other, Origin: app.baseUrl, 'Sec-Fetch-Site': 'same-origin', 'User-Agent': 'Firefox/140' };
  expect(await answer('createApiToken(input: { name: "mine" })', headers)).toBe('CreatedApiToken');
});
