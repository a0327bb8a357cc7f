/** The frame of the REST facade over real HTTP: what it makes of queries and bodies, tokens, dialects and defects. */
import { parse } from 'graphql';
import { afterAll, describe, expect, test } from 'vitest';
import { startHttpServer } from '../../src/http/http-server.ts';
import { silentLog } from '../../src/lib/log.ts';
import { created, ok, page, stream } from '../../src/rest-facade/answer.ts';
import type { Execution } from '../../src/rest-facade/call.ts';
import { pageArguments } from '../../src/rest-facade/dialects.ts';
import { customEndpoint, type Row } from '../../src/rest-facade/endpoint.ts';
import { createRestHandler } from '../../src/rest-facade/rest-handler.ts';

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;
const MILLION = 'x'.repeat(1_000_000);

const rows: readonly Row[] = [
  customEndpoint({
    method: METHODS,
    path: '/echo',
    access: 'public',
    operations: [],
    run: ({ input }) => ok(Object.fromEntries(input.names().map((name) => [name, input.raw(name)]))),
  }),
  customEndpoint({ method: 'GET', path: '/person/:email', access: 'public', operations: [], run: ({ input }) => ok({ email: input.param('email') }) }),
  customEndpoint({ method: 'POST', path: '/things', access: 'token', operations: [], run: identified(() => created('Made', { thing_uid: 'a' })) }),
  customEndpoint({
    method: 'GET',
    path: '/things',
    access: 'token',
    operations: [],
    run: identified(({ input }) => {
      const { page: number, perPage } = pageArguments(input);
      return page({ nodes: number === 1 ? [{ uid: 'a' }] : [], total: 60, page: number, perPage }, (node) => node);
    }),
  }),
  customEndpoint({
    method: 'POST',
    path: '/typed',
    access: 'token',
    operations: [],
    run({ input }) {
      const values = { count: input.integer('count'), on: input.flag('on'), name: input.text('name'), at: input.time('at') };
      input.check();
      return ok(values);
    },
  }),
  customEndpoint({ method: 'GET', path: '/admin', access: 'admin', operations: [], run: identified(() => ok({})) }),
  customEndpoint({
    method: 'GET',
    path: '/defect',
    access: 'public',
    operations: [],
    run: () => {
      throw new Error('SELECT secret FROM users');
    },
  }),
  customEndpoint({
    method: 'GET',
    path: '/download',
    access: 'public',
    operations: [],
    run: () => stream({ contentType: 'text/csv; charset=utf-8', fileName: 'a "b".csv', pieces: pieces() }),
  }),
  customEndpoint({
    method: 'POST',
    path: '/files',
    access: 'token',
    takesFile: true,
    operations: [],
    async run({ input, upload }) {
      let bytes = 0;
      for await (const chunk of upload?.file.content ?? []) bytes += Buffer.from(chunk).length;
      const complete = (await upload?.completeInput()) ?? input;
      return ok({ name: upload?.file.name, bytes, before: input.text('before'), after: complete.text('after') });
    },
  }),
];

function identified(run: Row['run']): Row['run'] {
  return async (call) => {
    await call.identify();
    return run(call);
  };
}

async function* pieces() {
  yield 'time,email\r\n';
  yield '1,a@example.com\r\n';
}

const viewers: Readonly<Record<string, Execution['viewer']>> = {
  plain: { isAdmin: false, restDialect: null },
  classic: { isAdmin: false, restDialect: 'classic' },
};

const handler = createRestHandler({
  rows,
  documents: new Map([['Identify', parse('query Identify { __typename }')]]),
  execute: async (_document, _variables, { token }) => ({ data: {}, viewer: viewers[token ?? ''] ?? null }),
  dialect: 'standard',
  prefix: '/api/v1',
  product: { name: 'Mailwright', version: '0', baseUrl: 'http://mail.example' },
});
const server = await startHttpServer({ host: '127.0.0.1', port: 0, log: silentLog, mounts: [{ prefix: '/api/v1', handle: handler }] });
afterAll(() => server.close());

const base = `http://127.0.0.1:${server.port}/api/v1`;
type Init = NonNullable<Parameters<typeof fetch>[1]>;

async function call(path: string, init: Init = {}) {
  const response = await fetch(base + path, init);
  const text = await response.text();
  const body: unknown = text === '' ? null : JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
}

const json = (method: string, body: string): Init => ({ method, body, headers: { 'Content-Type': 'application/json' } });
const form = (method: string, body: string): Init => ({ method, body, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
const bearer = (token: string, more: Record<string, string> = {}): Init => ({ headers: { Authorization: `Bearer ${token}`, ...more } });

describe('the bag (D3)', () => {
  test('nests brackets from query, form, multipart and JSON keys alike', async () => {
    const expected = { contact: { company: 'A', zip: '1' }, tag: ['x', 'y'] };
    const query = 'contact[company]=A&contact[zip]=1&tag[]=x&tag[]=y';
    const multipart = new FormData();
    for (const [name, value] of new URLSearchParams(query)) multipart.append(name, value);
    expect((await call(`/echo?${query}`)).body).toEqual(expected);
    expect((await call('/echo', form('PATCH', query))).body).toEqual(expected);
    expect((await call('/echo', { method: 'PATCH', body: multipart })).body).toEqual(expected);
    expect((await call('/echo', json('POST', '{"contact[company]":"A","contact":{"zip":"1"},"tag":["x","y"]}'))).body).toEqual(expected);
  });

  test('the body wins over the query, trees are merged', async () => {
    const { body } = await call('/echo?a=1&contact[city]=Q', json('POST', '{"a":2,"contact":{"zip":"9"}}'));
    expect(body).toEqual({ a: 2, contact: { city: 'Q', zip: '9' } });
  });

  test.each(METHODS.flatMap((method) => ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'].map((type) => [method, type])))(
    '%s with an empty body labelled %s is an empty bag',
    async (method, type) => {
      if (method === 'GET') return expect((await call('/echo', { headers: { 'Content-Type': type } })).status).toBe(200);
      expect(await call('/echo', { method, body: '', headers: { 'Content-Type': type } })).toMatchObject({ status: 200, body: {} });
    },
  );

  test('a JSON body on GET and DELETE is read', async () => {
    expect((await call('/echo', json('DELETE', '{"a":"1"}'))).body).toEqual({ a: '1' });
    expect(await rawGet('{"a":"1"}')).toContain('{"a":"1"}');
  });

  test('`{}` labelled urlencoded is an empty bag', async () => {
    expect(await call('/echo', form('POST', '{}'))).toMatchObject({ status: 200, body: {} });
  });

  test.each([
    ['a bare string', '"hello"'],
    ['a list', '[1]'],
    ['null', 'null'],
    ['half an object', '{"a":'],
    ['a form', 'a=1'],
    ['NUL in a value', '{"a":"x\\u0000y"}'],
    ['NUL in a name', '{"a\\u0000":"x"}'],
    ['half a surrogate pair', '{"a":"\\ud800"}'],
    ['deep nesting', `{"a":${'['.repeat(500)}${']'.repeat(500)}}`],
    ['very deep nesting', `{"a":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}`],
    ['deep brackets', `{"a${'[b]'.repeat(1000)}":1}`],
    ['too many parameters', JSON.stringify(Object.fromEntries(Array.from({ length: 6000 }, (_, no) => [`p${no}`, 1])))],
    ['a long name', JSON.stringify({ [MILLION]: 1 })],
  ])('JSON that is %s is a 422 with a message', async (_what, body) => {
    const answer = await call('/echo', json('POST', body));
    expect(answer).toMatchObject({ status: 422, body: { message: expect.any(String), errors: expect.any(Object) } });
  });

  test('names that JavaScript treats specially are parameters like others, or dropped', async () => {
    const { body } = await call('/echo', json('POST', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a[__proto__][polluted]":1}'));
    expect(body).toEqual({ constructor: { prototype: { polluted: 1 } }, a: {} });
    expect('polluted' in {}).toBe(false);
  });

  test('too much is a 413, an unreadable type a 415', async () => {
    expect((await call('/echo', json('POST', JSON.stringify({ a: MILLION.repeat(11) })))).status).toBe(413);
    expect((await call('/echo', { method: 'POST', body: '<a/>', headers: { 'Content-Type': 'text/xml' } })).status).toBe(415);
    expect((await call('/echo', { method: 'POST', body: 'x', headers: { 'Content-Encoding': 'gzip' } })).status).toBe(415);
  });

  test('a broken multipart body is a 422', async () => {
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=x']) {
      expect((await call('/echo', { method: 'POST', body: '--x\r\nrubbish', headers: { 'Content-Type': type } })).status).toBe(422);
    }
  });

  test('60 KiB in the query string work', async () => {
    const html = 'é'.repeat(10_000);
    const { status, body } = await call(`/echo?html=${encodeURIComponent(html)}`);
    expect(status).toBe(200);
    expect(body).toEqual({ html });
  });
});

describe('paths', () => {
  test.each(['a+b@example.com', 'a%2Bb%40example.com', 'a%2Bb@example.com/'])('%s reaches the row decoded', async (email) => {
    expect((await call(`/person/${email}`)).body).toEqual({ email: 'a+b@example.com' });
  });

  test('an unknown path and a wrong method are a 404 with a message', async () => {
    expect(await call('/nothing')).toMatchObject({ status: 404, body: { message: 'There is no such endpoint.' } });
    expect(await call('/person/a', { method: 'DELETE' })).toMatchObject({ status: 404, body: { message: 'This endpoint takes GET.' } });
    expect((await call('/person/%ZZ')).status).toBe(404);
  });
});

describe('tokens (D5)', () => {
  test('header, query and every body carry one', async () => {
    const ways: [string, Init][] = [
      ['/things', { method: 'POST', ...bearer('plain') }],
      ['/things?api_token=plain', { method: 'POST' }],
      ['/things', form('POST', 'api_token=plain')],
      ['/things', json('POST', '{"api_token":"plain"}')],
      ['/things', { method: 'POST', headers: { Authorization: 'Basic eDp5' }, body: new URLSearchParams({ api_token: 'plain' }) }],
    ];
    for (const [path, init] of ways) expect((await call(path, init)).status).toBe(201);
  });

  test('none or a wrong one is a 401, whatever else is wrong', async () => {
    expect(await call('/things')).toMatchObject({ status: 401, body: { message: 'Unauthenticated.' } });
    expect((await call('/typed', { method: 'POST', ...bearer('wrong'), body: new URLSearchParams({ count: 'x' }) })).status).toBe(401);
    expect((await call('/admin', bearer('plain'))).status).toBe(403);
  });
});

describe('typed input', () => {
  const typed = (body: string) => call('/typed', { method: 'POST', body, headers: { 'Content-Type': 'application/json', Authorization: 'Bearer plain' } });

  test('flags and numbers in any spelling (D4)', async () => {
    expect((await typed('{"count":"12","on":"YES","name":7,"at":"2030-01-31 08:00:00"}')).body).toEqual({ count: 12, on: true, name: '7', at: '2030-01-31T08:00:00.000Z' });
    for (const off of ['0', 'no', 'off', 'False', 0, false]) expect((await typed(JSON.stringify({ on: off }))).body).toEqual({ on: false });
    expect((await typed('{"count":"","on":""}')).body).toEqual({});
  });

  test('every wrong one is named', async () => {
    const { status, body } = await typed('{"count":1.5,"on":"maybe","name":{},"at":"2030-02-30 00:00:00"}');
    expect(status).toBe(422);
    expect(body).toMatchObject({ message: 'The given data was invalid.', errors: { count: [expect.any(String)], on: [expect.any(String)], name: [expect.any(String)], at: [expect.any(String)] } });
  });
});

describe('dialects (D1, D2)', () => {
  test('standard: 201 and a paginator', async () => {
    expect((await call('/things', { method: 'POST', ...bearer('plain') })).status).toBe(201);
    const { body, headers } = await call('/things?page=0&per_page=25&q=1&api_token=plain');
    expect(body).toEqual({
      data: [{ uid: 'a' }],
      links: {
        first: 'http://mail.example/api/v1/things?page=1&per_page=25&q=1',
        last: 'http://mail.example/api/v1/things?page=3&per_page=25&q=1',
        prev: null,
        next: 'http://mail.example/api/v1/things?page=2&per_page=25&q=1',
      },
      meta: { current_page: 1, per_page: 25, from: 1, to: 1, last_page: 3, total: 60 },
    });
    expect(headers.get('x-total-count')).toBe('60');
    expect(headers.get('link')).toContain('rel="next"');
  });

  test('classic by header, by token, and the header wins', async () => {
    const byHeader = await call('/things', bearer('plain', { 'X-Api-Dialect': 'classic' }));
    expect(byHeader).toMatchObject({ status: 200, body: [{ uid: 'a' }] });
    expect(byHeader.headers.get('x-total-count')).toBe('60');
    expect((await call('/things', { method: 'POST', ...bearer('classic') })).status).toBe(200);
    expect((await call('/things', { method: 'POST', ...bearer('classic', { 'X-Api-Dialect': 'standard' }) })).status).toBe(201);
  });

  test('per_page is clamped, past the end is empty', async () => {
    const { body } = await call('/things?page=999999999&per_page=5000', bearer('plain'));
    expect(body).toMatchObject({ data: [], meta: { per_page: 1000, from: null, to: null, last_page: 1 } });
  });
});

describe('answers', () => {
  test('a defect tells a reference and nothing else', async () => {
    const { status, body, headers } = await call('/defect', { headers: { 'X-Request-Id': 'my-number' } });
    expect({ status, body }).toEqual({ status: 500, body: { message: expect.any(String), reference: 'my-number' } });
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('a download is streamed with a safe file name', async () => {
    const response = await fetch(`${base}/download`);
    expect(await response.text()).toBe('time,email\r\n1,a@example.com\r\n');
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="a__b_.csv"');
  });

  test('HEAD is a GET without a body', async () => {
    const response = await fetch(`${base}/things`, { method: 'HEAD', ...bearer('plain') });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });
});

describe('files', () => {
  const upload = (token: string, fields: [string, string | Blob, string?][]) => {
    const body = new FormData();
    for (const [name, value, fileName] of fields) {
      if (typeof value === 'string') body.append(name, value);
      else body.append(name, value, fileName);
    }
    return call('/files', { method: 'POST', body, ...bearer(token) });
  };

  test('a file streams through, the fields around it arrive', async () => {
    const file = new Blob([new Uint8Array(30_000_000)]);
    const { body } = await upload('plain', [['before', 'b'], ['file', file, 'people.csv'], ['after', 'a'], ['other', new Blob(['x']), 'ignored']]);
    expect(body).toEqual({ name: 'people.csv', bytes: 30_000_000, before: 'b', after: 'a' });
  });

  test('strangers are refused', async () => {
    expect((await upload('wrong', [['file', new Blob(['a']), 'a.csv']])).status).toBe(401);
    expect((await upload('wrong', [['file', new Blob([new Uint8Array(60_000_000)]), 'a.csv']])).status).toBe(401);
  });

  test('files sent to other rows are read past', async () => {
    const body = new FormData();
    body.append('a', '1');
    body.append('file', new Blob([new Uint8Array(20_000_000)]), 'big');
    expect(await call('/echo', { method: 'POST', body })).toMatchObject({ status: 200, body: { a: '1' } });
  });
});

/** fetch refuses to send what some clients do: a GET with a body. */
async function rawGet(body: string): Promise<string> {
  const { connect } = await import('node:net');
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`GET /api/v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}
