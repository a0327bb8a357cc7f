/**
 * Uploads by the cookie of a session: from our own pages they work as with a token, from any other site nothing is stored, and
 * rows that take no file do not know the cookie.
 */
import { describe, expect, test } from 'vitest';
import { browse, cookieOf, type BrowserAnswer } from '../support/browser.ts';
import { mailWorld } from '../support/mail-world.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp({ FILE_SIZE_MAX_MB: '1', RATE_LIMIT: '1000/1m' });
const { host, protocol } = new URL(app.baseUrl);
const own = { origin: app.baseUrl };

async function signedIn(tenant: RestTenant): Promise<string> {
  const query = 'mutation ($input: SignInInput!) { signIn(input: $input) { __typename } }';
  const { email, password } = tenant;
  const answer = await browse(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...own },
    body: JSON.stringify({ query, variables: { input: { email, password } } }),
  });
  expect(answer.text).toContain('SignedIn');
  return cookieOf(answer);
}

type Part = readonly [name: string, content: string, fileName?: string];
const GOOD: readonly Part[] = [['file', 'Hello', 'good.txt']];

function multipart(parts: readonly Part[]): string {
  const all = parts.map(([name, content, fileName]) => {
    const file = fileName === undefined ? '' : `; filename="${fileName}"`;
    return `--edge\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${content}\r\n`;
  });
  return `${all.join('')}--edge--\r\n`;
}

const post = (path: string, headers: Readonly<Record<string, string>>, parts: readonly Part[] = GOOD) =>
  browse(`${app.baseUrl}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=edge', ...headers },
    body: multipart(parts),
  });

interface Answer {
  readonly status: number;
  readonly message: string;
  readonly files?: readonly { readonly file: string; readonly status: number; readonly message: string }[];
  readonly file_uid?: string;
}
const json = ({ text }: BrowserAnswer): Answer => JSON.parse(text);
const filesOf = async ({ token }: RestTenant) =>
  ((await app.rest('/files', { token })).body as { data: { name: string; uid: string }[] }).data;

describe('from a page of our own', () => {
  test.each(['standard', 'classic'])('two files, one of them too large, in the %s dialect', async (dialect) => {
    const tenant = await app.newTenant();
    const cookie = await signedIn(tenant);
    const parts = [...GOOD, ['file', 'x'.repeat(1_100_000), 'large.txt']] as const;
    const answer = await post('/file/upload', { ...own, cookie, 'x-api-dialect': dialect }, parts);
    expect(answer.status).toBe(dialect === 'standard' ? 201 : 200);
    expect(json(answer)).toMatchObject({
      message: '1 of 2 files uploaded',
      files: [
        { file: 'good.txt', status: 1 },
        { file: 'large.txt', status: 0, message: expect.stringContaining('1 MB') },
      ],
    });
    expect(answer.headers['ratelimit-policy']).toContain('token');
    expect((await filesOf(tenant)).map(({ name }) => name)).toEqual(['good.txt']);
  });

  test('also where the browser says it by Sec-Fetch-Site only, and where all files fail', async () => {
    const tenant = await app.newTenant();
    const cookie = await signedIn(tenant);
    expect((await post('/file/upload', { cookie, 'sec-fetch-site': 'same-origin' })).status).toBe(201);
    const empty = [
      ['file', '', 'a.txt'],
      ['file', '', 'b.txt'],
    ] as const;
    expect(await post('/file/upload', { ...own, cookie }, empty)).toMatchObject({ status: 422 });
  });

  test('a key lets one of two uploads run, and is not that of another session', async () => {
    const [tenant, other] = [await app.newTenant(), await app.newTenant()];
    const headers = { ...own, 'idempotency-key': 'one-upload' };
    const [cookie, foreign] = [await signedIn(tenant), await signedIn(other)];
    const [first, again] = [
      await post('/file/upload', { ...headers, cookie }),
      await post('/file/upload', { ...headers, cookie }),
    ];
    expect(json(again)).toEqual(json(first));
    expect(json(await post('/file/upload', { ...headers, cookie: foreign })).file_uid).not.toBe(json(first).file_uid);
    expect([(await filesOf(tenant)).length, (await filesOf(other)).length]).toEqual([1, 1]);
  });

  test('an import and an attachment, but not into what another customer has', async () => {
    const [tenant, other] = [await app.newTenant(), await app.newTenant()];
    const cookie = await signedIn(tenant);
    const people = [['file', 'EMAIL\nann@example.org\n', 'people.csv']] as const;
    for (const [owner, expected] of [
      [tenant, 201],
      [other, 403],
    ] as const) {
      const { newList, newCampaign } = mailWorld(app, owner);
      const list = await newList();
      expect((await post(`/lists/${list.uid}/import`, { ...own, cookie }, people)).status).toBe(expected);
      const attachments = `/campaigns/${await newCampaign(list)}/attachments`;
      expect((await post(attachments, { ...own, cookie })).status).toBe(expected);
    }
    expect([(await filesOf(tenant)).length, (await filesOf(other)).length]).toEqual([1, 0]);
  });

  test('not after the session ended, and a token beside the cookie decides', async () => {
    const [tenant, other] = [await app.newTenant(), await app.newTenant()];
    const cookie = await signedIn(tenant);
    expect((await post('/file/upload', { ...own, cookie, authorization: `Bearer ${other.token}` })).status).toBe(201);
    expect([(await filesOf(tenant)).length, (await filesOf(other)).length]).toEqual([0, 1]);
    expect((await post('/file/upload', { ...own, cookie, authorization: 'Bearer none' })).status).toBe(401);
    await browse(`${app.baseUrl}/logout`, { method: 'POST', headers: { ...own, cookie } });
    expect((await post('/file/upload', { ...own, cookie })).status).toBe(401);
  });
});

describe('from elsewhere', () => {
  const FROM: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['another site, as an old browser sends it', { origin: 'https://evil.example' }],
    ['a sibling subdomain', { origin: `${protocol}//news.${host}`, 'sec-fetch-site': 'same-site' }],
    ['another scheme', { origin: `https://${host}` }],
    ['a sandboxed frame', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['a program or a very old browser', {}],
    ['an address typed by hand', { 'sec-fetch-site': 'none' }],
    ['our Origin, but another site by Sec-Fetch-Site', { origin: app.baseUrl, 'sec-fetch-site': 'cross-site' }],
  ];

  test.each(FROM)('%s stores nothing', async (_from, headers) => {
    const tenant = await app.newTenant();
    const cookie = await signedIn(tenant);
    const answer = await post('/file/upload', { ...headers, cookie });
    expect(answer.status).toBe(401);
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    expect(await filesOf(tenant)).toEqual([]);
  });

  test('two cookies of the name are none', async () => {
    const tenant = await app.newTenant();
    const cookie = await signedIn(tenant);
    expect((await post('/file/upload', { ...own, cookie: `${cookie}; ${cookie}` })).status).toBe(401);
  });

  test('rows without files do not know the cookie, nor does GET /file/upload', async () => {
    const tenant = await app.newTenant();
    const headers = { ...own, cookie: await signedIn(tenant), 'sec-fetch-site': 'same-origin' };
    for (const path of ['/me', '/files', '/file/upload?files=[]'])
      expect((await browse(`${app.baseUrl}/api/v1${path}`, { headers })).status, path).toBe(401);
    expect((await post('/lists', headers, [['name', 'L']])).status).toBe(401);
  });
});
