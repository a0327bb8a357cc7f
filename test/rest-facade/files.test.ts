/** Files over REST (specification 4.10): uploaded, fetched, served to the world, deleted; and what must not work. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1', FILE_SIZE_MAX_MB: '3' });

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Answers a picture, redirects, stalls, lies about its length: by path. */
const source: Server = createServer((req, res) => {
  const path = new URL(req.url ?? '/', 'http://x').pathname;
  if (path === '/logo.png') return void res.end(PNG);
  if (path === '/moved') return void res.writeHead(302, { Location: '/logo.png' }).end();
  if (path === '/huge') return void stream(res, 8);
  if (path === '/broken') return void res.writeHead(200, { 'Content-Length': '1000' }).write('x', () => res.destroy());
  if (path === '/empty') return void res.end();
  res.writeHead(404).end();
});
let origin = '';

function stream(res: ServerResponse, megabytes: number): void {
  let sent = 0;
  const more = () => {
    if (sent++ >= megabytes) return void res.end();
    res.write(Buffer.alloc(1_048_576), more);
  };
  more();
}

beforeAll(async () => {
  source.listen(0, '127.0.0.1');
  await once(source, 'listening');
  origin = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
});
afterAll(() => void source.close());

function form(content: Uint8Array<ArrayBuffer>, name: string, fields: Readonly<Record<string, string>> = {}): FormData {
  const data = new FormData();
  for (const [key, value] of Object.entries(fields)) data.append(key, value);
  data.append('file', new Blob([content]), name);
  return data;
}

const upload = (content: Uint8Array<ArrayBuffer>, name: string, fields = {}, token = app.adminToken) =>
  app.rest('/file/upload', { method: 'POST', body: form(content, name, fields), token });

interface Uploaded {
  readonly url: string;
  readonly file_uid: string;
}
const uploaded = (answer: RestAnswer) => answer.body as Uploaded;

describe('a multipart upload', () => {
  test('answers a public address that serves the very bytes', async () => {
    const answer = await upload(new Uint8Array(PNG), 'logo.png', { subdirectory: 'images/2026' });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ status: 1, message: 'File uploaded', url: expect.stringContaining('/files/') });
    const served = await fetch(uploaded(answer).url);
    expect(served.status).toBe(200);
    expect(served.headers.get('content-type')).toBe('image/png');
    expect(served.headers.get('content-disposition')).toMatch(/^inline; filename="logo.png"/);
    expect(served.headers.get('cache-control')).toContain('immutable');
    expect(Buffer.from(await served.arrayBuffer())).toEqual(PNG);
    const again = await fetch(uploaded(answer).url, { headers: { 'If-None-Match': served.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
    const head = await fetch(uploaded(answer).url, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(PNG.length));
  });

  test('of more than a piece keeps every byte in order', async () => {
    const bytes = new Uint8Array(2_600_000).map((_, at) => at % 251);
    const served = await fetch(uploaded(await upload(bytes, 'large.bin')).url);
    expect(Buffer.compare(Buffer.from(await served.arrayBuffer()), Buffer.from(bytes))).toBe(0);
  });

  test('is a 200 in the classic dialect', async () => {
    const body = form(new Uint8Array(PNG), 'logo.png');
    const answer = await app.rest('/file/upload', { method: 'POST', body, headers: { 'X-Api-Dialect': 'classic' } });
    expect(answer.status).toBe(200);
  });

  test('beyond the size is a 422, and nothing of it stays', async () => {
    const answer = await upload(new Uint8Array(3_500_000), 'too-large.bin');
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({
      errors: { file: [expect.stringContaining('3 MB')] },
    });
    const [row] = await queryRows<{ files: number }>(
      app.ctx.db,
      sql`SELECT count(*)::int AS files FROM uploaded_file WHERE name = 'too-large.bin'`,
    );
    expect(row?.files).toBe(0);
  });

  test('of nothing is a 422', async () => {
    expect((await upload(new Uint8Array(0), 'empty.png')).status).toBe(422);
    expect((await app.rest('/file/upload', { method: 'POST', body: {} })).status).toBe(422);
  });
});

describe('several files in one form', () => {
  const LARGE = new Uint8Array(3_500_000);
  const SOME = new Uint8Array(1_400_000).map((_, at) => at % 251);
  type Part = [content: Uint8Array<ArrayBuffer>, name: string];
  const send = (parts: Part[], more: Parameters<typeof app.rest>[1] = {}) => {
    const body = new FormData();
    body.append('subdirectory', 'many');
    for (const [content, name] of parts) body.append('file[]', new Blob([content]), name);
    return app.rest('/file/upload', { method: 'POST', body, ...more });
  };
  interface Row {
    readonly file: string;
    readonly status: number;
    readonly message: string;
    readonly url?: string;
  }
  const rowsIn = (answer: RestAnswer) => (answer.body as { files: Row[] }).files;
  const bytesOf = async (url = '') => Buffer.from(await (await fetch(url)).arrayBuffer());

  test.each(['standard', 'classic'])('are all stored, each with its row (%s)', async (dialect) => {
    const parts: Part[] = [
      [new Uint8Array(PNG), 'a.png'],
      [LARGE, 'too-large.bin'],
      [SOME, 'c.bin'],
      [new Uint8Array(0), 'empty.txt'],
      [new Uint8Array(PNG), 'e.png'],
    ];
    const answer = await send(parts, { headers: { 'X-Api-Dialect': dialect } });
    expect(answer.status, answer.text).toBe(dialect === 'classic' ? 200 : 201);
    const rows = rowsIn(answer);
    expect(rows.map(({ file, status }) => `${file} ${status}`)).toEqual([
      'a.png 1',
      'too-large.bin 0',
      'c.bin 1',
      'empty.txt 0',
      'e.png 1',
    ]);
    expect(rows[1]?.message).toContain('3 MB');
    expect(answer.body).toMatchObject({ status: 1, message: '3 of 5 files uploaded', url: rows[0]?.url });
    expect(await bytesOf(rows[0]?.url)).toEqual(PNG);
    expect(Buffer.compare(await bytesOf(rows[2]?.url), Buffer.from(SOME))).toBe(0);
    expect(await bytesOf(rows[4]?.url)).toEqual(PNG);
    expect(rows[4]?.url).toMatch(/\/e\.png$/);
  });

  test('of which none is stored are a 422 with the rows', async () => {
    const answer = await send([
      [LARGE, 'one.bin'],
      [new Uint8Array(0), 'two.bin'],
    ]);
    expect([answer.status, answer.body]).toEqual([
      422,
      ['one.bin', 'two.bin'].map((file) => ({ file, status: 0, message: expect.any(String) })),
    ]);
  });

  test('are 20 at most, and addresses do not come with them', async () => {
    const many = Array.from({ length: 21 }, (_, n): Part => [new Uint8Array(PNG), `${n}.png`]);
    expect(rowsIn(await send(many.slice(1)))).toHaveLength(20);
    const stored = async () => Number((await app.rest('/files')).headers.get('x-total-count'));
    const before = await stored();
    expect(await send(many)).toMatchObject({ status: 413, body: { message: 'A form may have 20 files.' } });
    // Nobody was told their addresses: none of the first 20 stays.
    expect(await stored()).toBe(before);
    const both = form(new Uint8Array(PNG), 'a.png', { files: JSON.stringify([{ url: `${origin}/logo.png` }]) });
    expect(await app.rest('/file/upload', { method: 'POST', body: both })).toMatchObject({
      status: 422,
      body: { errors: { files: [expect.stringContaining('not both')] } },
    });
  });

  test('with an Idempotency-Key are stored once, and other files under the key are refused', async () => {
    const headers = { 'Idempotency-Key': 'several-files-1' };
    const first = await send(
      [
        [new Uint8Array(PNG), 'a.png'],
        [SOME, 'b.bin'],
      ],
      { headers },
    );
    const again = await send(
      [
        [new Uint8Array(PNG), 'a.png'],
        [SOME, 'b.bin'],
      ],
      { headers },
    );
    expect(again.body).toEqual(first.body);
    const other = await send(
      [
        [new Uint8Array(PNG), 'a.png'],
        [SOME.slice(1), 'b.bin'],
      ],
      { headers },
    );
    expect(other.status).toBe(422);
  });
});

describe('what is uploaded runs nowhere', () => {
  const vectors: [name: string, content: string][] = [
    ['page.html', '<!doctype html><script>alert(1)</script>'],
    ['picture.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ['page.png', '<html><script>alert(1)</script>'],
    ['script.js', 'alert(1)'],
    ['style.css', '*{background:url(javascript:alert(1))}'],
    ['doc.xhtml', '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>'],
  ];
  test.each(vectors)('%s', async (name, content) => {
    const { url } = uploaded(await upload(new Uint8Array(Buffer.from(content)), name));
    const { headers } = await fetch(url);
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toMatch(/^attachment/);
    expect(headers.get('content-security-policy')).toContain('sandbox');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('paths stay inside (hard case F9)', () => {
  const dots = [
    '..',
    '../',
    '..\\',
    '....//',
    '..;/',
    '%2e%2e',
    '%2e%2e%2f',
    '..%2f',
    '..%5c',
    '..%c0%af',
    '%c0%ae%c0%ae',
  ];
  const targets = ['etc/passwd', 'data/secret', 'prisma/schema.prisma', 'package.json', 'C:/windows/win.ini'];
  const spellings = [
    ...dots.flatMap((dot) =>
      targets.flatMap((target) => [`${dot}/${target}`, `a/${dot}/${dot}/${target}`, `${dot}${dot}${target}`]),
    ),
    ...[
      '/etc/passwd',
      '//etc/passwd',
      '\\\\host\\share',
      'C:\\x',
      'file:///etc/passwd',
      '.',
      '..',
      'a\0b',
      'x'.repeat(5_000),
    ],
  ];

  test(`of ${spellings.length} spellings none names anything but a name`, async () => {
    expect(spellings.length).toBeGreaterThanOrEqual(170);
    for (const spelling of spellings) {
      const name = encodeURIComponent(spelling).slice(0, 300);
      const answer = await upload(new Uint8Array(PNG), name, { subdirectory: spelling });
      expect([201, 422], spelling).toContain(answer.status);
      // Where the folder was refused, the name alone has not been tried.
      if (answer.status === 422)
        expect([201, 422], spelling).toContain((await upload(new Uint8Array(PNG), name)).status);
    }
    const rows = await queryRows<{ path: string }>(app.ctx.db, sql`SELECT path FROM uploaded_file`);
    for (const { path } of rows) expect(path).not.toMatch(/(^|\/)\.+(\/|$)|\\|^\/|\0|%/);
  });

  test('no address of a file leads anywhere else', async () => {
    const { url } = uploaded(await upload(new Uint8Array(PNG), 'logo.png'));
    const base = new URL(url);
    for (const path of [
      '/files/',
      '/files/..%2f..%2fpackage.json',
      '/files/%00',
      `/files/${'0'.repeat(32)}/logo.png`,
      '/files/../../etc/passwd',
    ]) {
      const { status } = await fetch(new URL(path, base));
      expect(status, path).toBe(404);
    }
    const [, token = ''] = /\/files\/([0-9a-f]{32})\//.exec(url) ?? [];
    for (let at = 0; at < token.length; at++) {
      const other = token.slice(0, at) + (token[at] === '0' ? '1' : '0') + token.slice(at + 1);
      expect((await fetch(new URL(`/files/${other}/logo.png`, base))).status).toBe(404);
    }
  });
});

describe('files by their addresses', () => {
  const fetchFiles = (files: unknown, method = 'POST') =>
    method === 'GET'
      ? app.rest(`/file/upload?${new URLSearchParams({ files: JSON.stringify(files) })}`)
      : app.rest('/file/upload', { method, body: { files: JSON.stringify(files) } });

  test.each(['POST', 'GET'])('are fetched, each with its outcome (%s)', async (method) => {
    const files = [
      // The longest address: those of stores with a signature are long.
      { url: `${origin}/logo.png?x=`.padEnd(2_048, 'x'), subdirectory: 'fetched' },
      { url: `${origin}/nothing` },
      { url: `${origin}/moved` },
      { url: `${origin}/huge` },
      { url: `${origin}/broken` },
      { url: `${origin}/empty` },
    ];
    const answer = await fetchFiles(files, method);
    expect(answer.status, answer.text).toBe(method === 'POST' ? 201 : 200);
    const outcomes = answer.body as { file: string; status: number; message: string; url?: string }[];
    expect(outcomes.map(({ file }) => file)).toEqual(files.map(({ url }) => url));
    expect(outcomes.map(({ status }) => status)).toEqual([1, 0, 0, 0, 0, 0]);
    expect(outcomes.map(({ message }) => message)).toEqual([
      'File uploaded',
      expect.stringContaining('404'),
      expect.stringContaining('redirects are not followed'),
      'The file could not be fetched completely. The answer is larger than 3 MB.',
      'The file could not be fetched completely. The connection broke during the answer.',
      expect.stringContaining('empty'),
    ]);
    const served = await fetch(outcomes[0]?.url ?? '');
    expect(Buffer.from(await served.arrayBuffer())).toEqual(PNG);
  });

  test.each(['standard', 'classic'])(
    'of a form come as a JSON text; when all failed, the rows are a 422 (%s)',
    async (dialect) => {
      const send = (files: object[], method: string) => {
        const body = new FormData();
        body.append('files', JSON.stringify(files));
        const headers = { 'X-Api-Dialect': dialect };
        if (method === 'POST') return app.rest('/file/upload', { method, body, headers });
        return app.rest(`/file/upload?${new URLSearchParams({ files: JSON.stringify(files) })}`, { headers });
      };
      const [good, bad] = [{ url: `${origin}/logo.png`, subdirectory: 'x' }, { url: `${origin}/nothing` }];
      const mixed = await send([bad, good], 'POST');
      expect(mixed.status).toBe(dialect === 'classic' ? 200 : 201);
      expect(mixed.body).toMatchObject([
        { file: bad.url, status: 0 },
        { file: good.url, status: 1 },
      ]);
      for (const method of ['POST', 'GET']) {
        const failed = await send([bad, bad], method);
        expect([failed.status, failed.body]).toEqual([
          422,
          [bad, bad].map(({ url }) => ({ file: url, status: 0, message: expect.stringContaining('404') })),
        ]);
      }
    },
  );

  test('reach no private address, however it is written', async () => {
    const urls = [
      ...['http://10.0.0.1/', 'http://192.168.1.1/', 'http://169.254.169.254/latest/meta-data/', 'http://[::1]/'],
      ...['http://localhost/', 'http://localhost.:80/', 'http://0.0.0.0/', 'http://2130706433:1/', 'http://0x7f.2/'],
      ...['http://[::ffff:10.0.0.1]/', 'http://168.63.129.16/', 'http://[fd00::1]/', 'http://user@10.0.0.1/'],
      ...[
        'http://8.8.8.8:25/',
        'http://8.8.8.8:6379/',
        'ftp://8.8.8.8/',
        'file:///etc/passwd',
        'gopher://8.8.8.8/',
        'x',
      ],
    ];
    for (let at = 0; at < urls.length; at += 10) {
      const answer = await fetchFiles(urls.slice(at, at + 10).map((url) => ({ url })));
      expect(answer.status).toBe(422);
      const outcomes = answer.body as { status: number }[];
      expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 0));
    }
  });

  test.each([['a word'], [{ url: 'http://x.example/' }], [[{ link: 'x' }]], [Array.from({ length: 21 }, () => 'x')]])(
    'in a shape that is none are a 422: %j',
    async (files) => {
      expect((await fetchFiles(files)).status).toBe(422);
    },
  );
});

test('files are listed, belong to their customer, and go when they are deleted', async () => {
  const [one, other] = [await app.newTenant(), await app.newTenant()];
  const { url, file_uid: uid } = uploaded(await upload(new Uint8Array(PNG), 'mine.png', {}, one.token));
  const listed = await app.rest('/files', { token: one.token });
  expect(listed.body).toMatchObject({ data: [{ uid, name: 'mine.png', size: PNG.length, url }], meta: { total: 1 } });
  expect((await app.rest('/files', { token: other.token })).body).toMatchObject({ data: [] });
  expect((await app.rest(`/files/${uid}`, { method: 'DELETE', token: other.token })).status).toBe(403);
  expect((await app.rest(`/files/${uid}`, { method: 'DELETE', token: one.token })).body).toEqual({
    ...{ status: 1, message: 'Deleted', file_uid: uid },
  });
  expect((await fetch(url)).status).toBe(404);
  expect((await app.rest(`/files/${uid}`, { method: 'DELETE', token: one.token })).status).toBe(404);
});
