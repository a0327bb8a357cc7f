/** F12: requests that are made to hurt: clear answers, no hang, and the memory they took is given back. */
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp({ ROLES: 'web,worker', IMPORT_SIZE_MAX_MB: '20' });
const owner = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });

/** After whatever was sent, an honest request is answered. */
afterEach(async () => {
  expect((await app.rest('/me', { token: owner.token })).status).toBe(200);
});

const post = (body: BodyInit, headers: Record<string, string>, path = '/lists') =>
  fetch(`${app.baseUrl}/api/v1${path}`, {
    method: 'POST',
    body,
    headers: { Authorization: `Bearer ${owner.token}`, ...headers },
  });
const JSON_TYPE = { 'Content-Type': 'application/json' };
const FORM_TYPE = { 'Content-Type': 'application/x-www-form-urlencoded' };
const deep = (open: string, close: string, depth: number) => `{"a":${open.repeat(depth)}1${close.repeat(depth)}}`;

describe('a body', () => {
  test.each([
    ['packed', gzipSync(Buffer.alloc(50_000_000)), { ...JSON_TYPE, 'Content-Encoding': 'gzip' }, [415]],
    ['packed twice', gzipSync(gzipSync(Buffer.alloc(9))), { ...JSON_TYPE, 'Content-Encoding': 'gzip, gzip' }, [415]],
    ['of lists 100,000 deep', deep('[', ']', 100_000), JSON_TYPE, [422]],
    ['of objects 100,000 deep', deep('{"a":', '}', 100_000), JSON_TYPE, [422]],
    ['of 9 MB of opening brackets', '['.repeat(9_000_000), JSON_TYPE, [413]],
    ['of 4 MB of brackets', '['.repeat(2_000_000) + ']'.repeat(2_000_000), JSON_TYPE, [422]],
    ['of 1,000,000 parameters', 'a=1&'.repeat(1_000_000), FORM_TYPE, [413, 422]],
    [
      'of 1,000,000 keys',
      `{${Array.from({ length: 700_000 }, (_, n) => `"${n}":1`).join(',')}}`,
      JSON_TYPE,
      [413, 422],
    ],
    ['of one key with 5,000 brackets', `a${'[b]'.repeat(5_000)}=1`, FORM_TYPE, [422]],
    ['with NUL', '{"name":"a\\u0000b"}', JSON_TYPE, [422]],
    ['that is UTF-16', Buffer.from('{"name":"a"}', 'utf16le'), JSON_TYPE, [422]],
    ['with a number of a million digits', `{"a":${'9'.repeat(1_000_000)}}`, JSON_TYPE, [422]],
  ])('%s is refused', async (_name, body, headers, statuses) => {
    const answer = await post(typeof body === 'string' ? body : new Uint8Array(body), headers);
    expect(statuses).toContain(answer.status);
    expect(await answer.json()).toHaveProperty('message');
  });

  test.each([
    ['6,000 fields', (n: number) => `Content-Disposition: form-data; name="f${n}"`, 6_000],
    ['3,000 files', (n: number) => `Content-Disposition: form-data; name="f${n}"; filename="a.csv"`, 3_000],
    ['one part with 10,000 headers', () => Array.from({ length: 10_000 }, (_, n) => `X-${n}: y`).join('\r\n'), 1],
  ])('multipart of %s is refused', async (_name, head, count) => {
    const parts = Array.from({ length: count }, (_, n) => `--b\r\n${head(n)}\r\n\r\nx\r\n`).join('');
    const answer = await post(`${parts}--b--\r\n`, { 'Content-Type': 'multipart/form-data; boundary=b' });
    expect([413, 422]).toContain(answer.status);
  });
});

describe('a head', () => {
  test.each([
    ['1,000,000 parameters', `GET /api/v1/me?${'a=1&'.repeat(1_000_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['one header of 1 MB', `GET /api/v1/me HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(1_000_000)}\r\n\r\n`],
    ['100,000 headers', `GET /api/v1/me HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(100_000)}\r\n`],
  ])('with %s gets 413', async (_name, request) => {
    expect(await statusOf(request)).toBe(413);
  });

  test('with 15,000 parameters is read to its limit', async () => {
    const request = `GET /api/v1/me?${'a=1&'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect([401, 413, 422]).toContain(await statusOf(request));
  });
});

describe('an import', () => {
  const upload = async (file: string | Uint8Array<ArrayBuffer>) => {
    const form = new FormData();
    form.append('file', new Blob([file]), 'people.csv');
    const answer = await app.rest(`/lists/${owner.listUid}/import`, { method: 'POST', body: form, token: owner.token });
    if (answer.status !== 200 && answer.status !== 201) return { status: answer.status, end: undefined };
    const { import_uid: uid } = answer.body as { import_uid: string };
    for (;;) {
      const { body } = await app.rest(`/lists/${owner.listUid}/imports/${uid}`, { token: owner.token });
      const { import: found } = body as { import: { status: string; added: number; rejected: number } };
      if (!['queued', 'running'].includes(found.status)) return { status: answer.status, end: found };
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  test('of one line of 15 MB ends', async () => {
    const { end } = await upload(`email,first name\n${'x'.repeat(15_000_000)}\n`);
    expect(end?.added ?? 0).toBe(0);
  });

  test('with a cell of 5 MB, NUL and a quote left open takes the lines beside them', async () => {
    const lines = [
      'email,first name',
      'bomb1@example.com,A',
      `bomb2@example.com,${'x'.repeat(5_000_000)}`,
      'bomb3@example.com,N\u0000UL',
      'bomb4@example.com,B',
      'bomb5@example.com,"open',
    ];
    const { end } = await upload(`${lines.join('\n')}\n`);
    expect(end?.status).toBe('done');
    expect(end?.added).toBeGreaterThanOrEqual(2);
    expect((end?.added ?? 0) + (end?.rejected ?? 0)).toBe(5);
  });

  test('of a million columns or of nothing but NUL ends', async () => {
    expect((await upload(`email${',a'.repeat(1_000_000)}\nbomb9@example.com\n`)).end?.status).not.toBe('running');
    expect((await upload(new Uint8Array(1_000_000))).end?.added ?? 0).toBe(0);
  });

  test('beyond the largest size is refused while it comes', async () => {
    expect([413, 422]).toContain((await upload('x'.repeat(21_000_000))).status);
  });
});

/** The status that a raw request is answered with; 0 when the connection was cut. */
function statusOf(request: string): Promise<number> {
  const { hostname, port } = new URL(app.baseUrl);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.on('data', (data) => (text += data.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)));
    socket.write(request);
  });
}
