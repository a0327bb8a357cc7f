/** The fast path for what comes by the thousand: same headers, counted instead of logged, and never a crash. */
import { afterAll, expect, test } from 'vitest';
import { startHttpServer, type Mount } from '../../src/http/http-server.ts';
import { createLog } from '../../src/lib/log.ts';

const lines: string[] = [];
const mount: Mount = {
  prefix: '/x',
  handle: (_req, res) => void res.end('usual'),
  fast(req, ipAddress, answer) {
    if (req.url === '/x/throw') throw new Error('a defect');
    if (req.url === '/x/not-mine') return false;
    const body = req.url === '/x/who' ? `${ipAddress} ${req.headers['user-agent']}` : 'fast';
    setTimeout(() => answer({ status: 200, headers: ['X-Of', String(req.url)], body }), 5);
    return true;
  },
};
const server = await startHttpServer({
  ...{ host: '127.0.0.1', port: 0, mounts: [mount] },
  log: createLog({ level: 'info', format: 'json', write: (line) => lines.push(line) }),
});
const origin = `http://127.0.0.1:${server.port}`;
const events = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
afterAll(() => server.close(0));

test('GETs below the prefix take it; what it does not take, other methods and bodies go the usual way', async () => {
  const text = async (path: string, init?: RequestInit) => (await fetch(origin + path, init)).text();
  expect(await text('/x/1')).toBe('fast');
  expect(await text('/x/not-mine')).toBe('usual');
  expect(await text('/x')).toBe('usual');
  expect(await text('/x/1', { method: 'POST', body: 'a' })).toBe('usual');
  const answer = await fetch(`${origin}/x/2`);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('x-frame-options')).toBe('DENY');
  await answer.text();
});

test('a defect cuts its own connection only', async () => {
  await expect(fetch(`${origin}/x/throw`)).rejects.toThrow();
  expect(await (await fetch(`${origin}/x/3`)).text()).toBe('fast');
  expect(events().filter(({ event }) => event === 'http.defect')).toHaveLength(1);
});

test('the log has one line for all of them, without their addresses', async () => {
  await server.close(0);
  const counted = events().filter(({ event }) => event === 'http.requests');
  expect(counted).toEqual([expect.objectContaining({ route: '/x', count: 3 })]);
  expect(events().filter(({ event }) => event === 'http.request')).toHaveLength(3);
});
