/** Every route of the program carries the headers that keep browsers safe (hard case E21): found, not listed. */
import { connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import type * as HttpServer from '../../src/http/http-server.ts';
import { freePort } from '../support/free-port.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { startRestApp } from '../support/rest-app.ts';

const mounted: HttpServer.Mount[] = [];
vi.mock('../../src/http/http-server.ts', async (original) => {
  const real = await original<typeof HttpServer>();
  return {
    ...real,
    startHttpServer: (options: HttpServer.HttpServerOptions) => {
      mounted.push(...options.mounts);
      return real.startHttpServer(options);
    },
  };
});

const port = await freePort();
const app = await startRestApp({
  BASE_URL: 'https://mail.test',
  PORT: String(port),
  INBOX: 'on',
  INBOX_SMTP_PORT: '0',
});
const origin = `http://127.0.0.1:${port}`;

const addresses = [
  ...mounted.flatMap(({ prefix }) => [prefix, `${prefix.replace(/\/$/, '')}/x/y`, `${prefix}?x=<script>`]),
  ...rows.map(({ path }) => `/api/v1${path.replaceAll(/:\w+/g, '0123456789abc')}`),
  '/no/such/page',
];
const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS'];

/** Open to pages of any site, without credentials (decision D59). */
const PUBLIC = '/api/v1/public/';

function faultsOf(headers: Headers, address = ''): string[] {
  const policy = new Map(
    (headers.get('content-security-policy') ?? '').split(';').map((part) => {
      const [name = '', ...values] = part.trim().split(/\s+/);
      return [name, values.join(' ')];
    }),
  );
  const scripts = policy.get('script-src') ?? policy.get('default-src') ?? '*';
  const framing = policy.get('frame-ancestors');
  return [
    headers.get('x-content-type-options') === 'nosniff' ? '' : 'nosniff',
    /^(no-referrer|same-origin)$/.test(headers.get('referrer-policy') ?? '') ? '' : 'referrer policy',
    /^'(none|self)'$/.test(framing ?? '') ? '' : `frame-ancestors ${framing}`,
    /^(DENY|SAMEORIGIN)$/.test(headers.get('x-frame-options') ?? '') ? '' : 'x-frame-options',
    /unsafe|\*|https?:/.test(scripts) ? `script-src ${scripts}` : '',
    /^max-age=\d{8}/.test(headers.get('strict-transport-security') ?? '') ? '' : 'strict-transport-security',
    headers.get('access-control-allow-origin') === (address.startsWith(PUBLIC) ? '*' : null)
      ? ''
      : 'access-control-allow-origin',
    headers.get('access-control-allow-credentials') === null ? '' : 'access-control-allow-credentials',
    headers.get('x-powered-by') === null && headers.get('server') === null ? '' : 'names its software',
    ...headers
      .getSetCookie()
      .map((cookie) =>
        /^__Host-.+; Path=\/(;|$)/.test(cookie) &&
        /; HttpOnly/.test(cookie) &&
        /; Secure/.test(cookie) &&
        /; SameSite=(Lax|Strict)/.test(cookie)
          ? ''
          : `cookie ${cookie.split('=')[0]}`,
      ),
  ].filter(Boolean);
}

test('all mounts were found', () => {
  const prefixes = mounted.map(({ prefix }) => prefix);
  for (const known of ['/healthz', '/graphql', '/api/v1', '/docs', '/inbox', '/']) expect(prefixes).toContain(known);
  expect(mounted.length).toBeGreaterThan(12);
});

test.each(methods)('%s on every address', async (method) => {
  const faults: string[] = [];
  for (const address of addresses) {
    const answer = await fetch(origin + address, {
      method,
      redirect: 'manual',
      headers: { Accept: 'text/html', Origin: 'https://evil.test' },
    });
    await answer.arrayBuffer();
    for (const fault of faultsOf(answer.headers, address)) faults.push(`${method} ${address}: ${fault}`);
  }
  expect(faults).toEqual([]);
});

test('pages of browsers, in full', async () => {
  for (const address of ['/', '/graphql', '/graphql/explorer', '/docs', '/inbox']) {
    const answer = await fetch(origin + address, { headers: { Accept: 'text/html' } });
    const page = (await answer.text()).replace(/<script>[^]*<\/script>/, '');
    expect([address, answer.status, faultsOf(answer.headers)]).toEqual([address, 200, []]);
    // Not toMatch: a failure would print nine megabytes.
    expect([address, /<[^>]+\son[a-z]+\s*=/i.test(page)]).toEqual([address, false]);
    expect([address, /<(script|link|img|iframe)[^>]+(src|href)="(https?:)?\/\//.test(page)]).toEqual([address, false]);
  }
});

test("the cookie of a session is the browser's alone", async () => {
  const created = await fetch(`${origin}/api/v1/login-token`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${app.adminToken}` },
  });
  const { url } = (await created.json()) as { url: string };
  const landed = await fetch(origin + new URL(url).pathname, {
    redirect: 'manual',
    headers: { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' },
  });
  expect(landed.headers.getSetCookie()).toHaveLength(1);
  expect(faultsOf(landed.headers)).toEqual([]);
});

test('a request that cannot be read is answered with the same headers and a status of the contract', async () => {
  for (const [bytes, status] of [
    ['nonsense\r\n\r\n', 422],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 413],
  ] as const) {
    const text = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
      let read = '';
      socket.on('data', (piece) => (read += piece.toString()));
      socket.on('close', () => resolve(read));
      socket.on('error', () => undefined);
    });
    const [head = '', json = ''] = text.split('\r\n\r\n');
    const [first = '', ...lines] = head.split('\r\n');
    expect(first).toContain(` ${status} `);
    expect(JSON.parse(json)).toEqual({ message: expect.any(String) });
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const at = line.indexOf(':');
        return [line.slice(0, at), line.slice(at + 1).trim()];
      }),
    );
    expect(faultsOf(headers)).toEqual([]);
  }
});

test.each([
  ['https://mail.test', 'off', 'max-age=63072000'],
  ['https://mail.test', 'on', 'max-age=63072000; includeSubDomains'],
  ['http://mail.test', 'on', null],
])('browsers are told to use https only: %s, HSTS_SUBDOMAINS %s', async (BASE_URL, HSTS_SUBDOMAINS, told) => {
  const other = String(await freePort());
  await startRestApp({ BASE_URL, HSTS_SUBDOMAINS, PORT: other });
  const answer = await fetch(`http://127.0.0.1:${other}/healthz`);
  expect(answer.headers.get('strict-transport-security')).toBe(told);
});
