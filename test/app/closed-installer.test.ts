/**
 * Nothing on the web sets the program up (hard case H11): addresses of installers are unknown, also when nobody is left in the table of users,
 * and the routes that install code are for administrators only. Signed archives of versions are refused for what is in them.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { insertApiToken } from '../../src/domain/accounts/api-token-store.ts';
import { silentLog } from '../../src/lib/log.ts';
import { afterFile } from '../support/after-file.ts';
import { tgzOf, zipOf, type Packed } from '../support/archives.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { startWithParent, type Program } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startReleases } from '../support/upgrade-client.ts';

const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 2, log: silentLog, applicationName: 'mailwright-test' });
afterFile(() => database.close());
const dataDir = newDataDir();
const releases = await startReleases();
const settings = { ...{ DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web', DB_POOL_SIZE: '4' }, ...releases.settings };

const WORDS = [
  'install',
  'installer',
  'install.php',
  'setup',
  'setup.php',
  'wizard',
  'first-run',
  'onboarding',
  'migrate',
  'update',
  'upgrade',
  'upgrade.php',
];
const INSTALLERS = [
  ...WORDS.flatMap((word) => [`/${word}`, `/${word}/`, `/admin/${word}`, `/index.php/${word}`]),
  ...[
    '/install/database',
    '/install/admin',
    '/install/finish',
    '/setup/step/1',
    '/admin/register',
    '/register-admin',
    '/.env',
    '/wp-admin/install.php',
  ],
];
/** Addresses of the API that it does not have. */
const API = [
  'install',
  'installer',
  'setup',
  'setup/admin',
  'register-admin',
  'upgrade/install',
  'upgrade/setup',
  'plugins/setup',
].map((word) => `/api/v1/${word}`);
/** Each changes which code runs. */
const CODE = [
  ['GET', '/upgrade'],
  ['POST', '/upgrade/run'],
  ['POST', '/upgrade/run-file'],
  ['POST', '/upgrade/finalize'],
  ['POST', '/upgrade/cancel'],
  ['POST', '/license/refresh'],
  ['POST', '/plugins/install'],
  ['GET', '/plugins'],
  ['POST', '/plugins/acme/none/activate'],
  ['POST', '/plugins/acme/none/deactivate'],
  ['POST', '/plugins/acme/none/rollback'],
  ['DELETE', '/plugins/acme/none'],
] as const;
const PROOF = 'url: "https://example.org/r", sha256: "a", signature: "a"';
const OPERATIONS = [
  ...['upgrade', 'plugins', 'license'].map((field) => `{ ${field} { __typename } }`),
  ...[
    ...[`runUpgrade(input: { ${PROOF} })`, 'runUpgradeStep(migration: "a")', 'finalizeUpgrade', 'cancelUpgrade'],
    ...[`installPlugin(input: { ${PROOF} })`, 'startPluginUpload(input: {})', 'discoverPlugins', 'refreshLicense'],
    'activatePlugin(input: { vendor: "acme", name: "none" })',
  ].map((field) => `mutation { ${field} { __typename } }`),
];

async function status(program: Program, method: string, where: string, token?: string): Promise<number> {
  const headers = { Accept: 'application/json', ...bearer(token) };
  const body =
    method === 'POST' ? { body: new URLSearchParams({ email: 'a@example.org', password: 'a long password' }) } : {};
  return (await fetch(program.baseUrl + where, { method, headers, redirect: 'manual', ...body })).status;
}

/** What a stranger gets at each address of an installer. */
async function expectNoInstaller(program: Program): Promise<void> {
  const open: string[] = [];
  for (const method of ['GET', 'POST', 'PUT'])
    for (const where of INSTALLERS) {
      const got = await status(program, method, where);
      if (got !== 404) open.push(`${method} ${where} ${got}`);
    }
  expect(open).toEqual([]);
  for (const method of ['GET', 'POST'])
    for (const where of API) expect(await status(program, method, where), where).toBe(404);
}

async function expectForbidden(program: Program, token: string | undefined, expected: number): Promise<void> {
  for (const [method, where] of CODE)
    expect(await status(program, method, `/api/v1${where}`, token), `${method} ${where}`).toBe(expected);
  for (const query of OPERATIONS) {
    const response = await fetch(`${program.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...bearer(token) },
      body: JSON.stringify({ query }),
    });
    const refusal = expected === 401 ? /"(UnauthenticatedError|UNAUTHENTICATED)"/ : /"(ForbiddenError|FORBIDDEN)"/;
    expect(await response.text(), query).toMatch(refusal);
  }
}

const bearer = (token: string | undefined) => (token === undefined ? {} : { Authorization: `Bearer ${token}` });

async function tokenOfCustomer(): Promise<string> {
  const [user] = await queryRows<{ customerId: bigint; userId: bigint }>(
    database,
    sql`WITH c AS (INSERT INTO customer (uid, name) VALUES ('customer00001', 'Customer') RETURNING id)
        INSERT INTO app_user (customer_id, uid, email, email_key, password_hash) SELECT id, 'user000000001', 'c@example.org', 'c@example.org', 'x' FROM c
        RETURNING customer_id AS "customerId", id AS "userId"`,
  );
  if (!user) throw new Error('No customer was made.');
  return (await insertApiToken(database, { ...user, kind: 'primary', name: 'Primary', scopes: ['*'] })).token;
}

test('nothing sets the program up, for strangers and for customers', async () => {
  const program = await startWithParent(settings);
  await expectNoInstaller(program);
  await expectForbidden(program, undefined, 401);
  await expectForbidden(program, await tokenOfCustomer(), 403);
  await program.stop();
});

test('also with an empty table of users, as after a restore of a broken backup', async () => {
  const running = await startWithParent(settings);
  await database.execute(sql`TRUNCATE app_user CASCADE`);
  await expectNoInstaller(running);
  await running.stop();
  const program = await startWithParent(settings);
  await expectNoInstaller(program);
  await expectForbidden(program, undefined, 401);
  // Not even the token of the settings: it was for the first start.
  await expectForbidden(program, program.token, 401);
  const rows = await queryRows<{ users: number }>(database, sql`SELECT count(*)::int AS users FROM app_user`);
  expect(rows).toEqual([{ users: 0 }]);
  await program.stop();
});

const GOOD: Packed = { name: 'package.json', content: '{ "name": "mailwright", "version": "9.0.0" }' };
const HOSTILE: readonly (readonly [string, Buffer, RegExp])[] = [
  ...['../canary', 'a/../../canary', '/tmp/canary', '..\\canary', 'C:/canary', 'a\u202eb'].flatMap((name) => [
    [`tgz ${name}`, tgzOf([GOOD, { name, content: 'x' }]), /name/] as const,
    [`zip ${name}`, zipOf([GOOD, { name, content: 'x' }]), /name/] as const,
  ]),
  ...(['1', '2', '3', '6'] as const).map(
    (type) => [`type ${type}`, tgzOf([GOOD, { name: 'a', type, link: '/etc/passwd' }]), /link/] as const,
  ),
  ['a symbolic link', zipOf([GOOD, { name: 'a', content: 'x', mode: 0o120777 }]), /link/],
  ['a name twice', tgzOf([GOOD, GOOD]), /twice|one file/],
  ['names that differ in case', zipOf([GOOD, { name: 'a/B' }, { name: 'a/b' }]), /twice|one file/],
  ['a bomb', tgzOf([GOOD, { name: 'zeros', content: Buffer.alloc(40_000_000) }]), /100 to one/],
  [
    'too many files',
    tgzOf([GOOD, ...Array.from({ length: 20_001 }, (_, no) => ({ name: `f${no}` }))]),
    /more than 20000/,
  ],
  [
    'another program',
    tgzOf([{ name: 'package.json', content: '{ "name": "other", "version": "9.0.0" }' }]),
    /no version of Mailwright/,
  ],
];

test('a signed archive of a version is refused for what is in it, before anything is written', async () => {
  const { url: own } = await createTestDatabase();
  const program = await startWithParent({ ...settings, DATABASE_URL: own });
  for (const [what, archive, reason] of HOSTILE) {
    expect(await releases.stage(program, archive), what).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(reason),
    });
    expect(readdirSync(path.join(dataDir, 'releases')), what).toEqual(['upgrade.json']);
  }
  for (const place of [path.join(dataDir, 'canary'), path.join(dataDir, '..', 'canary'), '/tmp/canary'])
    expect(existsSync(place)).toBe(false);
  await program.stop();
});
