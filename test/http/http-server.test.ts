/** The web server itself: request numbers, who called, probes, and closing without cutting anything off. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { healthMounts } from '../../src/http/health-handlers.ts';
import { startHttpServer, type HttpServer, type Mount } from '../../src/http/http-server.ts';
import { landingMount } from '../../src/http/landing-page.ts';
import { iconMount } from '../../src/http/icon-mount.ts';
import { createLog, type Log } from '../../src/lib/log.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { rawRequest } from '../support/raw-request.ts';

const servers: HttpServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close(0))));

async function start(
  mounts: readonly Mount[],
  { trustedProxies = [], log = silent() }: { trustedProxies?: string[]; log?: Log } = {},
) {
  const server = await startHttpServer({ host: '127.0.0.1', port: 0, mounts, log, trustedProxies });
  servers.push(server);
  return { server, url: `http://127.0.0.1:${server.port}` };
}

const silent = () => createLog({ level: 'silent', format: 'json' });
const whoAmI: Mount = { prefix: '/who', handle: (_req, res, { ipAddress }) => void res.end(ipAddress) };

test('the first mount that fits serves; nothing else is a 404 in JSON', async () => {
  const { url } = await start([whoAmI, { prefix: '/whole', handle: (_req, res) => void res.end('whole') }]);
  expect(await (await fetch(`${url}/whole/x?y=/who`)).text()).toBe('whole');
  const missing = await fetch(`${url}/whose`);
  expect([missing.status, await missing.json()]).toEqual([404, { message: 'There is nothing at this address.' }]);
});

test('a whole address in the request line is its path, under its host', async () => {
  const handle: Mount['handle'] = (req, res) => void res.end(`${req.headers.host} ${req.url}`);
  const { url } = await start([
    { prefix: '/c', handle },
    { ...whoAmI, fast: () => false },
  ]);
  const ask = async (line: string) => (await rawRequest(url, { line })).body;
  expect(await ask('GET http://links.test/c/x?y=/z')).toBe('links.test /c/x?y=/z');
  expect(await ask('GET HTTPS://links.test:8443/c')).toBe('links.test:8443 /c');
  expect(await ask('GET http://links.test?x')).toEqual({ message: 'There is nothing at this address.' });
});

test('an offer of another protocol is not taken, and the request is answered as if it were not there', async () => {
  const echo: Mount['handle'] = async (req, res) => void res.end(`${req.method} ${(await req.toArray()).join('')}`);
  const upgrade: Mount['upgrade'] = (_req, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  const { url } = await start([{ prefix: '/api', handle: echo, upgrade }, whoAmI]);
  const offer = (protocol: string) => ['Connection: Upgrade, HTTP2-Settings', `Upgrade: ${protocol}`];
  const ask = (line: string, protocol: string, body = '') =>
    rawRequest(url, { line, headers: [...offer(protocol), 'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA'], body });
  expect(await ask('GET /api', 'h2c')).toMatchObject({ status: 200, body: 'GET ' });
  expect(await ask('POST /api', 'h2c', 'name=x')).toMatchObject({ status: 200, body: 'POST name=x' });
  expect(await ask('GET /who', 'websocket')).toMatchObject({ status: 200 });
  expect(await ask('GET /api', 'WebSocket')).toMatchObject({ status: 101 });
});

test('a request number is taken over when it is harmless, and logged with the route, never with the path', async () => {
  const lines: string[] = [];
  const { url } = await start([whoAmI], {
    log: createLog({ level: 'info', format: 'json', write: (line) => lines.push(line) }),
  });
  const taken = await fetch(`${url}/who/secret@example.com?token=x`, { headers: { 'X-Request-Id': 'abc-1' } });
  expect(taken.headers.get('x-request-id')).toBe('abc-1');
  const replaced = await fetch(`${url}/who`, { headers: { 'X-Request-Id': 'a b' } });
  expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  // Written when the answer has gone, which its reader may see first.
  await expect.poll(() => lines.length).toBe(3);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'http.listening', routes: ['/who'] });
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({
    event: 'http.request',
    requestId: 'abc-1',
    route: '/who',
    status: 200,
  });
  expect(lines.join()).not.toContain('secret');
});

test('a handler that throws is a 500 with a reference', async () => {
  const { url } = await start([{ prefix: '/', handle: () => Promise.reject(new Error('inner details')) }]);
  const answer = await fetch(url, { headers: { 'X-Request-Id': 'n1' } });
  expect([answer.status, await answer.json()]).toEqual([
    500,
    { message: expect.not.stringContaining('inner'), reference: 'n1' },
  ]);
});

test('forwarded addresses are believed from named proxies only', async () => {
  const forwarded = { headers: { 'X-Forwarded-For': '203.0.113.9, 198.51.100.7, 10.1.2.3' } };
  const open = await start([whoAmI]);
  expect(await (await fetch(`${open.url}/who`, forwarded)).text()).toBe('127.0.0.1');
  const behind = await start([whoAmI], { trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
  expect(await (await fetch(`${behind.url}/who`, forwarded)).text()).toBe('198.51.100.7');
  expect(await (await fetch(`${behind.url}/who`, { headers: { 'X-Forwarded-For': 'nonsense' } })).text()).toBe(
    '127.0.0.1',
  );
});

test('probes: alive is always 200, ready is 503 with the reason while a part fails', async () => {
  let broken = false;
  const database = async () => {
    if (broken) throw new Error('no connection');
  };
  const { url } = await start(healthMounts({ checks: { database } }));
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ready', checks: { database: 'ok' } });
  broken = true;
  const answer = await fetch(`${url}/readyz`);
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { status: 'not ready', checks: { database: 'no connection' } },
  ]);
  expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
});

test('the landing page escapes what it is given', async () => {
  const links = [{ href: '/x?a=1&b=2', label: 'X', about: '"quoted"' }];
  const state = { viewer: 'stranger', notes: [{ text: '<i>', code: '<u>' }], steps: [] } as const;
  const { url } = await start([landingMount({ title: 'A <b>', links, stateFor: async () => state })]);
  const html = await (await fetch(url)).text();
  expect(html).toContain('<h1>A &lt;b&gt;</h1>');
  expect(html).toContain('href="/x?a=1&amp;b=2"');
  expect(html).toContain('<li>&lt;i&gt;<br><code>&lt;u&gt;</code></li>');
});

test('an unknown address answers a browser with a page, and there is an icon', async () => {
  const { url } = await start([whoAmI, iconMount]);
  const missing = await fetch(`${url}/nothing`, { headers: { accept: 'text/html,application/xhtml+xml;q=0.9' } });
  expect([missing.status, missing.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(await missing.text()).toContain('<h1>There is nothing at this address</h1>');
  // A program that sends something, whatever it accepts.
  const posted = await fetch(`${url}/nothing`, { method: 'POST', headers: { accept: 'text/html' } });
  expect([posted.status, await posted.json()]).toEqual([404, { message: 'There is nothing at this address.' }]);
  const icon = await fetch(`${url}/favicon.ico`);
  expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/x-icon']);
  // The signature of an icon file.
  expect([...new Uint8Array(await icon.arrayBuffer()).slice(0, 4)]).toEqual([0, 0, 1, 0]);
});

test('headers up to 64 KiB pass, far longer ones are a 413 and not a broken connection', async () => {
  const { url } = await start([whoAmI]);
  expect((await fetch(`${url}/who?x=${'a'.repeat(65_000)}`)).status).toBe(200);
  expect((await fetch(`${url}/who?x=${'a'.repeat(200_000)}`)).status).toBe(413);
});

test('closing waits for a running answer, but not for idle connections', async () => {
  const begun = Promise.withResolvers<void>();
  const handle: Mount['handle'] = async (_req, res) => {
    begun.resolve();
    await sleep(300);
    res.end('done');
  };
  const slow: Mount = { prefix: '/slow', handle };
  const { server, url } = await start([slow, whoAmI]);
  await (await fetch(`${url}/who`)).text();
  const running = fetch(`${url}/slow`).then((response) => response.text());
  await begun.promise;
  const startedAt = performance.now();
  await server.close();
  expect(await running).toBe('done');
  expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(2_000));
});

test('closing waits for a handler whose client was cut off: what it reads from is closed next', async () => {
  let hasEnded = false;
  const handle: Mount['handle'] = async (_req, res) => {
    res.write('the beginning');
    await sleep(400);
    hasEnded = true;
  };
  const { server, url } = await start([{ prefix: '/download', handle }]);
  const response = await fetch(`${url}/download`);
  const read = response.text().catch(() => 'cut');
  await server.close(50);
  expect([hasEnded, await read]).toEqual([true, 'cut']);
});

test('closing cuts what does not end in time', async () => {
  const begun = Promise.withResolvers<void>();
  const handle: Mount['handle'] = () => {
    begun.resolve();
    return new Promise(() => undefined);
  };
  const { server, url } = await start([{ prefix: '/never', handle }]);
  const running = fetch(`${url}/never`).then(
    () => 'answered',
    () => 'cut',
  );
  await begun.promise;
  await server.close(200);
  expect(await running).toBe('cut');
});
