/** What the facade makes of queries, bodies and typed values, over real HTTP. */
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { form, json, METHODS, startEchoRest } from '../support/echo-rest.ts';

const MILLION = 'x'.repeat(1_000_000);
const { call, port } = await startEchoRest();

describe('the bag (D3)', () => {
  test('nests brackets from query, form, multipart and JSON keys alike', async () => {
    const expected = { contact: { company: 'A', zip: '1' }, tag: ['x', 'y'] };
    const query = 'contact[company]=A&contact[zip]=1&tag[]=x&tag[]=y';
    const multipart = new FormData();
    for (const [name, value] of new URLSearchParams(query)) multipart.append(name, value);
    expect((await call(`/echo?${query}`)).body).toEqual(expected);
    expect((await call('/echo', form('PATCH', query))).body).toEqual(expected);
    expect((await call('/echo', { method: 'PATCH', body: multipart })).body).toEqual(expected);
    expect(
      (await call('/echo', json('POST', '{"contact[company]":"A","contact":{"zip":"1"},"tag":["x","y"]}'))).body,
    ).toEqual(expected);
  });

  test('a plus stands for a blank in queries and forms, whatever stands beside it', async () => {
    const text = 'a+b=+1+%2B+1+&%C3%BC=ü+€+%E2%82%AC&plus=%2B&empty=&blanks=a%20+b';
    const expected = { 'a b': ' 1 + 1 ', ü: 'ü € €', plus: '+', empty: '', blanks: 'a  b' };
    expect((await call('/echo', form('POST', text))).body).toEqual(expected);
    expect((await call(`/echo?${text.replaceAll('ü', '%C3%BC').replaceAll('€', '%E2%82%AC')}`)).body).toEqual(expected);
  });

  test('the body wins over the query, trees are merged', async () => {
    const { body } = await call('/echo?a=1&contact[city]=Q', json('POST', '{"a":2,"contact":{"zip":"9"}}'));
    expect(body).toEqual({ a: 2, contact: { city: 'Q', zip: '9' } });
  });

  test.each(
    METHODS.flatMap((method) =>
      ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'].map((type) => [
        method,
        type,
      ]),
    ),
  )('%s with an empty body labelled %s is an empty bag', async (method, type) => {
    if (method === 'GET') return expect((await call('/echo', { headers: { 'Content-Type': type } })).status).toBe(200);
    expect(await call('/echo', { method, body: '', headers: { 'Content-Type': type } })).toMatchObject({
      status: 200,
      body: {},
    });
  });

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
    ['very deep nesting', `{"a":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`],
    ['deep brackets', `{"a${'[b]'.repeat(1000)}":1}`],
    ['too many parameters', JSON.stringify(Object.fromEntries(Array.from({ length: 6000 }, (_, no) => [`p${no}`, 1])))],
    ['a long name', JSON.stringify({ ['x'.repeat(200_000)]: 1 })],
  ])('JSON that is %s is a 422 with a message', async (_what, body) => {
    const answer = await call('/echo', json('POST', body));
    expect(answer).toMatchObject({ status: 422, body: { message: expect.any(String), errors: expect.any(Object) } });
  });

  test('names that JavaScript treats specially are parameters like others, or dropped', async () => {
    const { body } = await call(
      '/echo',
      json(
        'POST',
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a[__proto__][polluted]":1}',
      ),
    );
    expect(body).toEqual({ constructor: { prototype: { polluted: 1 } }, a: {} });
    expect('polluted' in {}).toBe(false);
  });

  test('too much is a 413, an unreadable type a 415', async () => {
    expect((await call('/echo', json('POST', JSON.stringify({ a: MILLION.repeat(11) })))).status).toBe(413);
    expect(
      (await call('/echo', { method: 'POST', body: '<a/>', headers: { 'Content-Type': 'text/xml' } })).status,
    ).toBe(415);
    expect((await call('/echo', { method: 'POST', body: 'x', headers: { 'Content-Encoding': 'gzip' } })).status).toBe(
      415,
    );
  });

  test('a broken multipart body is a 422', async () => {
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=x']) {
      expect(
        (await call('/echo', { method: 'POST', body: '--x\r\nrubbish', headers: { 'Content-Type': type } })).status,
      ).toBe(422);
    }
  });

  test('60 KiB in the query string work', async () => {
    const html = 'é'.repeat(10_000);
    const { status, body } = await call(`/echo?html=${encodeURIComponent(html)}`);
    expect(status).toBe(200);
    expect(body).toEqual({ html });
  });
});

describe('typed input', () => {
  const typed = (body: string) =>
    call('/typed', {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json', Authorization: 'Bearer plain' },
    });

  test('flags and numbers in any spelling (D4)', async () => {
    expect((await typed('{"count":"12","on":"YES","name":7,"at":"2030-01-31 08:00:00"}')).body).toEqual({
      count: 12,
      on: true,
      name: '7',
      at: '2030-01-31T08:00:00.000Z',
    });
    for (const off of ['0', 'no', 'off', 'False', 0, false])
      expect((await typed(JSON.stringify({ on: off }))).body).toEqual({ on: false });
    expect((await typed('{"count":"","on":""}')).body).toEqual({});
  });

  test('every wrong one is named', async () => {
    const { status, body } = await typed('{"count":1.5,"on":"maybe","name":{},"at":"2030-02-30 00:00:00"}');
    expect(status).toBe(422);
    expect(body).toMatchObject({
      message: 'The given data was invalid.',
      errors: {
        count: [expect.any(String)],
        on: [expect.any(String)],
        name: [expect.any(String)],
        at: [expect.any(String)],
      },
    });
  });
});

/** fetch refuses to send what some clients do: a GET with a body. */
async function rawGet(body: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `GET /api/v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}
