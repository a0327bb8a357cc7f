/** C8 and C9: nobody reaches a private target by a url, however it is written and whatever its name resolves to. */
import type dns from 'node:dns';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { HOSTILE_HOSTS as HOSTS } from '../support/hostile-hosts.ts';
import { openOutbound, postOutboundForm } from '../../src/lib/outbound-request.ts';

type Answers = readonly { address: string; family: number }[];
type Callback = (error: Error | null, addresses?: Answers) => void;

/** What names resolve to, answer by answer; anything else is not found. No test asks the world. */
const names = new Map<string, { answers: Answers[]; delayMs?: number }>();
let lookups = 0;
vi.mock('node:dns', async (original) => ({
  ...(await original<typeof dns>()),
  lookup: (host: string, _options: object, callback: Callback) => {
    lookups += 1;
    const literal = literalAddress(host);
    const known = names.get(host.toLowerCase());
    const answer = known && (known.answers.length > 1 ? known.answers.shift() : known.answers[0]);
    setTimeout(() => {
      if (literal) callback(null, [literal]);
      else if (answer) callback(null, answer);
      else callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }));
    }, known?.delayMs ?? 0);
  },
}));

/** As the system does: an address stands for itself. */
function literalAddress(host: string): { address: string; family: number } | undefined {
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return { address: host, family: 4 };
  return host.includes(':') ? { address: host, family: 6 } : undefined;
}

let connections = 0;
const answering: RequestListener = (req, res) => {
  if (req.url === '/redirect') res.writeHead(302, { location: 'http://127.0.0.1/' }).end();
  else if (req.method === 'POST') req.pipe(res);
  else res.end('secret');
};
const server = createServer(answering).on('connection', () => (connections += 1));
let port = 0;
beforeAll(async () => {
  // All addresses of this machine, old and new: a slip would be counted.
  await new Promise<void>((resolve) => server.listen(0, '::', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());
beforeEach(() => {
  names.clear();
  connections = 0;
  lookups = 0;
  for (const name of [
    'localhost',
    'localhost.',
    'ip6-localhost',
    'intranet',
    'db.internal',
    'metadata.google.internal',
  ])
    names.set(name, { answers: [[{ address: '127.0.0.1', family: 4 }]] });
});

const ask = (url: string, options: { allowed?: string[]; timeoutMs?: number } = {}) =>
  openOutbound(url, { allowed: [], timeoutMs: 3_000, bytesMax: 1_000, ...options });

describe('a url leads to no private target', () => {
  test(`in any of ${HOSTS.length} notations, on the port where one listens and on the usual ones`, async () => {
    expect(HOSTS.length).toBeGreaterThanOrEqual(120);
    for (const host of HOSTS) {
      for (const url of [`http://${host}/`, `http://${host}:${port}/`, `https://${host}/`]) {
        const opened = await ask(url).then(
          () => 'opened',
          (error: Error) => error.message,
        );
        expect(opened, url).toMatch(/cannot be found|is not a public address|must be an http|too long to answer/);
      }
    }
    expect(connections).toBe(0);
  });

  test('nor by what stands around the host: users, other schemes, ports of other services, odd characters', async () => {
    names.set('public.example', { answers: [[{ address: '203.0.112.7', family: 4 }]] });
    const urls = [
      ...['user@', 'user:pass@', ':@', 'public.example@', 'public.example%00@', '127.0.0.1:80@'].map(
        (user) => `http://${user}127.0.0.1:${port}/`,
      ),
      ...['user@', 'a:b@'].map((user) => `http://${user}public.example/`),
      ...['file', 'ftp', 'gopher', 'dict', 'ldap', 'ws', 'data', 'javascript', 'jar', 'netdoc'].map(
        (scheme) => `${scheme}://127.0.0.1:${port}/`,
      ),
      ...[22, 25, 5432, 6379, 11211, 3306, 8080, port].map((number) => `http://public.example:${number}/`),
      `http://127.0.0.1:${port}\\@public.example/`,
      `http://public.example\\@127.0.0.1:${port}/`,
      `http:127.0.0.1:${port}/`,
      `http:\\\\127.0.0.1:${port}/`,
      `//127.0.0.1:${port}/`,
      `http://127.0.0.1:${port}#@public.example/`,
      `http://127.0.0.1:${port}?@public.example/`,
      ` http://127.0.0.1:${port}/ `,
      `http://127.0.0.1\t:${port}/`,
      `HtTp://127.0.0.1:${port}/`,
      `http://${'a'.repeat(3_000)}.example/`,
      '',
    ];
    for (const url of urls) await expect(ask(url), url).rejects.toThrow();
    expect(connections).toBe(0);
  });
});

describe('a name that resolves to something else the second time', () => {
  const here = { address: '127.0.0.1', family: 4 };
  const here6 = { address: '::1', family: 6 };
  // Nobody answers there: it is for documentation in all but name.
  const there = { address: '203.0.112.7', family: 4 };

  test.each([
    ['the other way at every answer', [[there], [here], [there], [here]]],
    ['IPv4 first, IPv6 then', [[there], [here6]]],
    ['a good and a bad one at once', [[there, here]]],
    ['a good one, then both', [[there], [there, here]]],
    ['an alias of a private one', [[here]]],
    ['the own public address of the other family', [[there], [{ address: '::ffff:127.0.0.1', family: 6 }]]],
  ])('is not reached: %s', async (_name, answers) => {
    names.set('rebind.example', { answers: answers.map((answer) => [...answer]) });
    await expect(ask('http://rebind.example/')).rejects.toThrow('is not a public address');
    expect(connections).toBe(0);
    expect(lookups).toBeLessThanOrEqual(2);
  });

  test('nor when its answer comes late: the time runs from the look-up on', async () => {
    names.set('late.example', { answers: [[here]], delayMs: 1_500 });
    await expect(ask('http://late.example/', { timeoutMs: 100 })).rejects.toThrow('too long');
    expect(connections).toBe(0);
  });
});

test('redirects are not followed, and what the operator allows is reached', async () => {
  const options = { allowed: ['127.0.0.1'], timeoutMs: 60_000 };
  await expect(ask(`http://127.0.0.1:${port}/redirect`, options)).rejects.toThrow('redirects are not followed');
  expect(connections).toBe(1);
  const outbound = await ask(`http://127.0.0.1:${port}/`, options);
  const chunks: Buffer[] = [];
  for await (const chunk of outbound.body) chunks.push(chunk);
  outbound.close();
  expect(Buffer.concat(chunks).toString()).toBe('secret');
});

test('a form is posted through the same gate, and answered whole', async () => {
  const form = { grant_type: 'refresh_token', refresh_token: 'a b&c=ä' };
  const options = { allowed: ['127.0.0.1'], timeoutMs: 60_000, bytesMax: 1_000, form };
  expect(await postOutboundForm(`http://127.0.0.1:${port}/token`, options)).toBe(
    'grant_type=refresh_token&refresh_token=a+b%26c%3D%C3%A4',
  );
  await expect(postOutboundForm('http://intranet/token', { ...options, allowed: [] })).rejects.toThrow('not a public');
  await expect(postOutboundForm(`http://127.0.0.1:${port}/token`, { ...options, bytesMax: 10 })).rejects.toThrow(
    'larger',
  );
});
