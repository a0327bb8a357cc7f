/** The frame of the facade over real HTTP: paths, tokens, dialects, answers, files. */
import { describe, expect, test } from 'vitest';
import { bearer, form, json, startEchoRest, type Init } from '../support/echo-rest.ts';

const { base, call } = await startEchoRest();

describe('paths', () => {
  test.each(['a+b@example.com', 'a%2Bb%40example.com', 'a%2Bb@example.com/'])(
    '%s reaches the row decoded',
    async (email) => {
      expect((await call(`/person/${email}`)).body).toEqual({ email: 'a+b@example.com' });
    },
  );

  test('an unknown path and a wrong method are a 404 with a message', async () => {
    expect(await call('/nothing')).toMatchObject({ status: 404, body: { message: 'There is no such endpoint.' } });
    expect(await call('/person/a', { method: 'DELETE' })).toMatchObject({
      status: 404,
      body: { message: 'This endpoint takes GET.' },
    });
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
      [
        '/things',
        { method: 'POST', headers: { Authorization: 'Basic eDp5' }, body: new URLSearchParams({ api_token: 'plain' }) },
      ],
    ];
    for (const [path, init] of ways) expect((await call(path, init)).status).toBe(201);
  });

  test('none or a wrong one is a 401, whatever else is wrong', async () => {
    expect(await call('/things')).toMatchObject({ status: 401, body: { message: 'Unauthenticated.' } });
    expect(
      (await call('/typed', { method: 'POST', ...bearer('wrong'), body: new URLSearchParams({ count: 'x' }) })).status,
    ).toBe(401);
    expect((await call('/admin', bearer('plain'))).status).toBe(403);
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

  test('a long query is not repeated in a header, which no client would take', async () => {
    const { body, headers } = await call(`/things?api_token=plain&q=${'x'.repeat(30_000)}`);
    expect(body).toMatchObject({ links: { next: expect.stringContaining('page=2') } });
    expect([headers.get('x-total-count'), headers.get('link')]).toEqual(['60', null]);
  });

  test('classic by header, by token, and the header wins', async () => {
    const byHeader = await call('/things', bearer('plain', { 'X-Api-Dialect': 'classic' }));
    expect(byHeader).toMatchObject({ status: 200, body: [{ uid: 'a' }] });
    expect(byHeader.headers.get('x-total-count')).toBe('60');
    expect((await call('/things', { method: 'POST', ...bearer('classic') })).status).toBe(200);
    expect(
      (await call('/things', { method: 'POST', ...bearer('classic', { 'X-Api-Dialect': 'standard' }) })).status,
    ).toBe(201);
  });

  test('an unknown dialect is a 422, after the question who asks', async () => {
    for (const wrong of ['Classic', 'standard, classic', 'modern', ''])
      expect(await call('/things', bearer('plain', { 'X-Api-Dialect': wrong })), wrong).toMatchObject({
        status: 422,
        body: { errors: { 'X-Api-Dialect': [expect.stringContaining('standard or classic')] } },
      });
    expect((await call('/things', { headers: { 'X-Api-Dialect': 'modern' } })).status).toBe(401);
  });

  test('per_page is clamped, past the end is empty', async () => {
    const { body } = await call('/things?page=999999999&per_page=5000', bearer('plain'));
    expect(body).toMatchObject({ data: [], meta: { per_page: 1000, from: null, to: null, last_page: 1 } });
    const far = await call(`/things?page=${'9'.repeat(400)}&per_page=99999999999999999999`, bearer('plain'));
    expect(far).toMatchObject({ status: 200, body: { data: [], meta: { per_page: 1000 } } });
    expect((await call('/things?page=-99999999999', bearer('plain'))).body).toMatchObject({
      meta: { current_page: 1 },
    });
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
    const { body } = await upload('plain', [
      ['before', 'b'],
      ['file', file, 'people.csv'],
      ['after', 'a'],
      ['other', new Blob(['x']), 'ignored'],
    ]);
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

  test('a body that breaks off in a file is a 422, whoever reads it', async () => {
    const type = { 'Content-Type': 'multipart/form-data; boundary=x' };
    for (const size of [1, 3_000_000]) {
      const body = `--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n${'a'.repeat(size)}`;
      expect((await call('/echo', { method: 'POST', body, headers: type })).status).toBe(422);
      expect((await call('/files', { method: 'POST', body, ...bearer('plain', type) })).status).toBe(422);
      expect((await call('/files', { method: 'POST', body, ...bearer('wrong', type) })).status).toBe(401);
    }
  });
});
