/**
 * Bodies without files are limited, and counted before they are parsed: a stranger's to 256 KB, those with a valid token
 * to 5 MB, and to 14 MB where the html of a campaign comes in.
 */
import { expect, test, vi } from 'vitest';
import { BODY_BYTES_MAX, LARGE_BODY_BYTES_MAX, STRANGERS_BODY_BYTES_MAX } from '../../src/lib/bounded-body.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const owner = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const MULTIPART_TYPE = 'multipart/form-data; boundary=b';

interface Sent {
  readonly body: string;
  readonly type: string;
  readonly token?: string | undefined;
  readonly path?: string;
}

async function post({ body, type, token, path = '/api/v1/lists' }: Sent) {
  const headers = { 'Content-Type': type, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(app.baseUrl + path, { method: 'POST', headers, body });
  return { status: answer.status, text: await answer.text() };
}

const json = (bytes: number) => JSON.stringify({ x: 'x'.repeat(bytes) });
const form = (bytes: number) => `x=${'x'.repeat(bytes)}`;
const multipart = (bytes: number) =>
  `--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n${'x'.repeat(bytes)}\r\n--b--\r\n`;
const bodies = [
  ['JSON', JSON_TYPE, json],
  ['a form', FORM_TYPE, form],
  ['a multipart form', MULTIPART_TYPE, multipart],
] as const;

test.each(bodies)('%s of a stranger may have 256 KB, and one with a valid token 5 MB', async (_name, type, make) => {
  const small = STRANGERS_BODY_BYTES_MAX - 1_000;
  expect((await post({ type, body: make(small) })).status).toBe(401);
  for (const token of [undefined, 'x'.repeat(60)]) {
    const { status, text } = await post({ type, token, body: make(STRANGERS_BODY_BYTES_MAX) });
    expect([status, text]).toEqual([413, expect.stringContaining('256 KB')]);
  }
  expect((await post({ type, token: owner.token, body: make(BODY_BYTES_MAX - 1_000) })).status).toBe(422);
  const { status, text } = await post({ type, token: owner.token, body: make(BODY_BYTES_MAX) });
  expect([status, text]).toEqual([413, expect.stringContaining('5 MB')]);
});

test.each([
  ['JSON', JSON_TYPE, (token: string, bytes: number) => JSON.stringify({ api_token: token, x: 'x'.repeat(bytes) })],
  ['a form', FORM_TYPE, (token: string, bytes: number) => `api_token=${token}&x=${'x'.repeat(bytes)}`],
])('%s that begins with a valid token may have 5 MB', async (_name, type, make) => {
  expect((await post({ type, body: make(owner.token, BODY_BYTES_MAX - 1_000) })).status).toBe(422);
  for (const body of [make(owner.token, BODY_BYTES_MAX), make('x'.repeat(60), STRANGERS_BODY_BYTES_MAX)])
    expect((await post({ type, body })).status).toBe(413);
});

test('a token that stands behind the first 256 KB comes too late', async () => {
  const body = `${form(STRANGERS_BODY_BYTES_MAX)}&api_token=${owner.token}`;
  expect((await post({ type: FORM_TYPE, body })).status).toBe(413);
});

test('the same over GraphQL', async () => {
  const path = '/graphql';
  const operation = (bytes: number) => JSON.stringify({ query: '{ __typename }', variables: { x: 'x'.repeat(bytes) } });
  const sent = { path, type: JSON_TYPE };
  expect((await post({ ...sent, body: operation(STRANGERS_BODY_BYTES_MAX - 1_000) })).status).toBe(200);
  const refused = await post({ ...sent, body: operation(STRANGERS_BODY_BYTES_MAX) });
  expect([refused.status, refused.text]).toEqual([413, expect.stringContaining('256 KB')]);
  const { token } = owner;
  expect((await post({ ...sent, token, body: operation(LARGE_BODY_BYTES_MAX - 1_000) })).status).toBe(200);
  const tooLarge = await post({ ...sent, token, body: operation(LARGE_BODY_BYTES_MAX) });
  expect([tooLarge.status, tooLarge.text]).toEqual([413, expect.stringContaining('14 MB')]);
});

const MANY_KEYS = `{${Array.from({ length: 300_000 }, (_, n) => `"${n}":1`).join(',')}}`;
const NESTED = `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`;

test.each([
  ['keys', MANY_KEYS],
  ['levels', NESTED],
])('JSON with too many %s is not parsed', async (_name, body) => {
  const parse = vi.spyOn(JSON, 'parse');
  const longest = () => Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
  try {
    expect((await post({ type: JSON_TYPE, token: owner.token, body })).status).toBe(422);
    expect((await post({ type: JSON_TYPE, token: owner.token, body, path: '/graphql' })).status).toBe(400);
    expect(longest()).toBeLessThan(body.length);
  } finally {
    parse.mockRestore();
  }
});

test('a form of too many parameters is not parsed', async () => {
  const seen: number[] = [];
  const Real = URLSearchParams;
  class Counting extends Real {
    constructor(init?: ConstructorParameters<typeof Real>[0]) {
      super(init);
      seen.push(typeof init === 'string' ? init.length : 0);
    }
  }
  vi.stubGlobal('URLSearchParams', Counting);
  try {
    const body = 'a=1&'.repeat(1_000_000);
    expect((await post({ type: FORM_TYPE, token: owner.token, body })).status).toBe(422);
    expect(Math.max(0, ...seen)).toBeLessThan(body.length);
  } finally {
    vi.unstubAllGlobals();
  }
});

test('names of any length and depth are refused as such', async () => {
  const { token } = owner;
  for (const length of [6_000, 1_600_000]) {
    const { status, text } = await post({ type: FORM_TYPE, token, body: `a${'[b]'.repeat(length)}=1` });
    expect([status, text]).toEqual([422, expect.stringContaining('nested 8 deep')]);
  }
  const { status, text } = await post({ type: FORM_TYPE, token, body: `${'a'.repeat(4_000_000)}=1` });
  expect([status, text]).toEqual([422, expect.stringContaining('200 characters')]);
});
