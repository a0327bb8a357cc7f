/** GraphQL over HTTP: which requests are let in, the explorer, what errors tell. */
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, test } from 'vitest';
import { builder } from '../../src/schema/builder.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';

const Broken = builder.simpleObject('Broken', { fields: (t) => ({ text: t.string() }) });

builder.queryField('broken', (t) =>
  t.field({
    type: Broken,
    authScopes: { public: true },
    resolve: () => {
      throw new Error('password=hunter2 in SELECT * FROM app_user');
    },
  }),
);

const app = await startGraphqlApp();
const body = JSON.stringify({ query: '{ me { ... on User { uid } } }' });
const authorization = `Bearer ${app.admin.token}`;

interface Attempt {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** With node:http, as fetch does not let go of Origin and Host. */
async function send(attempt: Attempt): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const req = request(
      app.url,
      { method: attempt.method ?? 'POST', headers: { authorization, ...attempt.headers } },
      (res) => {
        let text = '';
        res.on('data', (piece: Buffer) => (text += piece.toString()));
        res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }));
      },
    );
    req.on('error', reject);
    req.end(attempt.body);
  });
}

const json = { 'content-type': 'application/json', accept: 'application/graphql-response+json' };

describe('requests of other sites', () => {
  const origins = ['https://evil.test', 'null', 'http://127.0.0.1:1', 'https://mail.test.evil.test', 'file://'];
  const types = [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ];
  test.each(origins.flatMap((origin) => types.map((type) => [origin, type])))(
    'from %s as %s are refused',
    async (origin, type) => {
      const answer = await send({ headers: { origin, 'content-type': type }, body });
      expect(answer.status).toBe(403);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    },
  );

  test('are told nothing when their browser asks first (D59)', async () => {
    const headers = { origin: 'https://evil.test', 'access-control-request-method': 'POST' };
    const answer = await send({ method: 'OPTIONS', headers });
    expect([answer.status, answer.headers['allow']]).toEqual([204, 'GET, POST, OPTIONS']);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  test.each([new URL(app.url).origin, 'http://mail.test'])('but those of %s are our own', async (origin) => {
    expect((await send({ headers: { ...json, origin }, body })).status).toBe(200);
  });
});

describe('bodies', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/graphql',
    '',
  ])('of type "%s" are refused', async (type) => {
    expect((await send({ headers: type ? { 'content-type': type } : {}, body })).status).toBe(415);
  });

  test.each(['{', '"text"', 'null', '[]', '{"query": 5}', '{}'])('such as %s are a 400', async (broken) => {
    expect((await send({ headers: json, body: broken })).status).toBe(400);
  });

  test('that are zipped are refused, and the answer says why', async () => {
    for (const encoding of ['gzip', 'br', 'deflate', 'gzip, identity']) {
      const answer = await send({ headers: { ...json, 'content-encoding': encoding }, body });
      expect(answer.status).toBe(415);
      expect(answer.text).toContain('without Content-Encoding');
    }
  });

  test('above the limit are refused', async () => {
    const huge = JSON.stringify({ query: '{ me { ... on User { uid } } }', variables: { x: 'x'.repeat(15_000_000) } });
    expect((await send({ headers: json, body: huge })).status).toBe(413);
  });

  test('and their answers are stored by nobody', async () => {
    for (const sent of [body, '{', JSON.stringify({ query: '{ nothing }' })]) {
      const answer = await fetch(app.url, { method: 'POST', headers: { ...json, authorization }, body: sent });
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
    const refused = await fetch(app.url, { method: 'DELETE' });
    expect(refused.headers.get('cache-control')).toBe('no-store');
  });

  test('mutations do not run by GET', async () => {
    const query = encodeURIComponent('mutation { revokeApiToken(uid: "x") { __typename } }');
    const answer = await fetch(`${app.url}?query=${query}`, { headers: { authorization } });
    expect(answer.status).toBe(405);
  });
});

test('a defect tells a reference and nothing else, and the log has the rest', async () => {
  const { errors, status } = await app.run('{ broken { __typename } }', {}, null);
  const reference = String(errors[0]?.extensions['reference']);
  expect(status).toBe(500);
  expect(JSON.stringify(errors)).not.toMatch(/hunter2|SELECT|\/src\/|stack/);
  expect(app.logged.find((line) => line.includes(reference))).toContain('hunter2');
});

test('a browser gets a light page without script that leads to the explorer and the reference', async () => {
  const answer = await fetch(app.url, { headers: { accept: 'text/html' } });
  const page = await answer.text();
  expect(page).toContain('href="graphql/explorer"');
  expect(page).toContain('href="docs/graphql"');
  expect(page).not.toContain('<script');
  expect(page.length).toBeLessThan(10_000);
});

test('the explorer is served to browsers, runs its own script only, and needs nothing from elsewhere', async () => {
  const explorer = `${app.url}/explorer`;
  const answer = await fetch(explorer, { headers: { accept: 'text/html' } });
  const page = await answer.text();
  expect(page).toContain('<title>Mailwright</title>');
  expect(page).not.toMatch(/<(script|link|img)[^>]+(src|href)="https?:/);
  const policy = answer.headers.get('content-security-policy') ?? '';
  const script = page.slice(page.indexOf('<script>') + 8, page.lastIndexOf('</script>'));
  expect(script).not.toContain('\r');
  expect(policy).toContain(`'sha256-${createHash('sha256').update(script).digest('base64')}'`);
  expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline/);
  const again = await fetch(explorer, {
    headers: { accept: 'text/html', 'if-none-match': answer.headers.get('etag') ?? '' },
  });
  expect(again.status).toBe(304);
});

describe('without the explorer', async () => {
  const closed = await startGraphqlApp({ explorer: false });

  test('strangers cannot read the schema', async () => {
    expect((await closed.run(getIntrospectionQuery(), {}, null)).errors[0]?.extensions).toMatchObject({
      code: 'INTROSPECTION_REFUSED',
    });
    expect((await closed.run('{ __type(name: "User") { name } }', {}, null)).errors).not.toEqual([]);
    expect(
      (await closed.run('{ ...a } fragment a on Query { __schema { types { name } } }', {}, null)).errors,
    ).not.toEqual([]);
    expect((await closed.run(getIntrospectionQuery())).errors).toEqual([]);
  });

  test('browsers get no page', async () => {
    for (const address of [closed.url, `${closed.url}/explorer`]) {
      const answer = await fetch(address, { headers: { accept: 'text/html' } });
      expect(answer.headers.get('content-type') ?? '').not.toContain('text/html');
      expect(await answer.text()).not.toContain('<html');
    }
  });
});
