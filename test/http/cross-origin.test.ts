/** Browsers' pages of other origins (decision D59), asked over real HTTP. */
import { describe, expect, test } from 'vitest';
import { rows } from '../../src/rest-facade/rows.ts';
import { browse, cookieOf } from '../support/browser.ts';
import { startRestApp } from '../support/rest-app.ts';

const PAGE = 'https://app.example';
const OTHER = 'https://evil.example';
const app = await startRestApp({ CORS_ORIGINS: `${PAGE}, http://localhost:5173` });
const closed = await startRestApp();
const owner = await app.newTenant();

function ask(method: string, path: string, origin: string | undefined, more: Record<string, string> = {}, at = app) {
  const headers = { ...(origin === undefined ? {} : { Origin: origin }), ...more };
  return fetch(at.baseUrl + path, {
    method,
    headers,
    ...(method === 'POST' ? { body: '{"query":"{ __typename }"}' } : {}),
  });
}

const preflight = (path: string, origin: string, at = app) =>
  ask(
    'OPTIONS',
    path,
    origin,
    { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'authorization' },
    at,
  );

const said = (response: Response) => response.headers.get('access-control-allow-origin');

describe('OPTIONS', () => {
  test('is answered on every row with its methods, without a token', async () => {
    for (const row of rows) {
      const path = row.path.replace(/:\w+/g, 'x');
      const response = await ask('OPTIONS', `/api/v1${path}`, undefined);
      expect(response.status, path).toBe(204);
      expect(response.headers.get('allow')?.split(', '), path).toEqual(
        expect.arrayContaining([...[row.method].flat(), 'OPTIONS']),
      );
    }
    const graphql = await ask('OPTIONS', '/graphql', undefined);
    expect([graphql.status, graphql.headers.get('allow')]).toEqual([204, 'GET, POST, OPTIONS']);
    expect((await ask('OPTIONS', '/api/v1/nothing', undefined)).status).toBe(404);
  });

  test.each(['/api/v1/lists', '/graphql'])('%s lets pages of listed origins ask', async (path) => {
    const allowed = await preflight(path, PAGE);
    expect([allowed.status, said(allowed), allowed.headers.get('vary')]).toEqual([204, PAGE, 'Origin']);
    expect(allowed.headers.get('access-control-allow-headers')).toContain('Authorization');
    expect(allowed.headers.get('access-control-allow-methods')).toContain('DELETE');
    expect(allowed.headers.get('access-control-allow-credentials')).toBeNull();
    for (const origin of [OTHER, 'null', `${PAGE}.evil.example`, 'http://app.example']) {
      const refused = await preflight(path, origin);
      expect([refused.status, said(refused), refused.headers.get('access-control-allow-methods')], origin).toEqual([
        204,
        null,
        null,
      ]);
    }
    expect(said(await preflight(path, PAGE, closed))).toBeNull();
  });
});

describe('answers', () => {
  const bearer = { Authorization: `Bearer ${owner.token}` };

  test('of REST can be read by pages of listed origins', async () => {
    const read = await ask('GET', '/api/v1/lists', PAGE, bearer);
    expect([read.status, said(read)]).toEqual([200, PAGE]);
    expect(read.headers.get('access-control-expose-headers')).toContain('X-Total-Count');
    expect(said(await ask('GET', '/api/v1/lists', OTHER, bearer))).toBeNull();
    expect(said(await ask('GET', '/api/v1/lists', PAGE, {}))).toBe(PAGE);
  });

  test('of /public can be read by all pages', async () => {
    const response = await ask('POST', '/api/v1/public/subscribers', OTHER, { 'Content-Type': 'application/json' });
    expect([response.status, said(response)]).toEqual([422, '*']);
    expect(said(await preflight('/api/v1/public/subscribers', OTHER, closed))).toBe('*');
  });

  test('of GraphQL come for listed origins only, and a cookie is none there', async () => {
    const json = { 'Content-Type': 'application/json' };
    const read = await ask('POST', '/graphql', PAGE, { ...json, ...bearer });
    expect([read.status, said(read)]).toEqual([200, PAGE]);
    expect((await ask('POST', '/graphql', OTHER, { ...json, ...bearer })).status).toBe(403);
    expect((await ask('POST', '/graphql', PAGE, { ...json, ...bearer }, closed)).status).toBe(403);
    const session = await sessionOf(owner);
    const query = JSON.stringify({ query: '{ me { __typename } }' });
    const asPage = async (origin: string) =>
      (
        await fetch(`${app.baseUrl}/graphql`, {
          method: 'POST',
          body: query,
          headers: { ...json, Cookie: session, Origin: origin },
        })
      ).text();
    expect(await asPage(app.baseUrl)).toContain('"User"');
    expect(await asPage(PAGE)).toContain('Unauthenticated');
  });
});

/** The cookie of a login through a link. */
async function sessionOf({ token }: { token: string }): Promise<string> {
  const { body } = await app.rest('/login-token', { method: 'POST', token });
  return cookieOf(await browse(String(Object(body).url)));
}
