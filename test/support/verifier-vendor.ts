/**
 * A vendor that verifies addresses over HTTP, on this machine, for the conformance suite. What it says of an address depends on the
 * domain: `deliverable.test`, `risky.test` and so on. Its answers come in another order, and of `unknown.test` it says nothing at all.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VerificationResult } from '../../src/plugin-api/index.ts';
import type {
  EmailVerifierConformance,
  TestVerifierVendor,
  VerifierVendorBehaviour,
} from '../../src/plugin-testing/test-verifier-vendor.ts';
import { untilCutOff } from './until-cut-off.ts';

export const VERIFIER_KEY = 'a-secret-of-the-verifier';
export const VENDOR_WAIT_SECONDS = 60;
const SLOW_MS = 200;

const addressAt = (result: VerificationResult) => (no: number) => `p${no}@${result}.test`;
export const vendorsAddresses = {
  deliverable: addressAt('deliverable'),
  undeliverable: addressAt('undeliverable'),
  risky: addressAt('risky'),
  unknown: addressAt('unknown'),
} satisfies EmailVerifierConformance['addresses'];

/** `POST /v1/verify` takes `{"emails": []}`, `GET /v1/account` says how many credits are left. */
export async function startVerifierVendor(): Promise<TestVerifierVendor> {
  let how: VerifierVendorBehaviour = 'answers';
  const sockets = new Set<Socket>();
  const asked: string[] = [];
  const count = { ever: 0, requests: 0 };
  const server = createServer(
    untilCutOff(async (request, response) => {
      count.requests++;
      const body = Buffer.concat(await request.toArray()).toString();
      if (how === 'never answers') return;
      if (how === 'slow') await sleep(SLOW_MS);
      if (how === 'fails') return answer(response, 500, '<html><body><h1>Oops</h1></body></html>', 'text/html');
      if (how === 'is busy')
        return answer(response.setHeader('Retry-After', VENDOR_WAIT_SECONDS), 429, { error: 'too many requests' });
      const key = request.headers.authorization;
      if (key !== `Bearer ${VERIFIER_KEY}`) return answer(response, 401, { error: `The key ${key} is unknown.` });
      if (request.url === '/v1/account') return answer(response, 200, { credits: how === 'refuses' ? 0 : 100 });
      if (how === 'refuses') return answer(response, 402, { error: 'no credits' });
      if (request.url !== '/v1/verify') return answer(response, 404, { error: 'not found' });
      const { emails }: { emails: string[] } = JSON.parse(body);
      asked.push(...emails);
      answer(response, 200, { results: emails.toReversed().flatMap(saidOf) });
    }),
  );
  server.on('connection', (socket) => {
    if (how === 'is away') return void socket.destroy();
    count.ever++;
    sockets.add(socket.on('close', () => sockets.delete(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    settings: { api_key: VERIFIER_KEY, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    behave(next) {
      how = next;
      if (next === 'is away') for (const socket of sockets) socket.destroy();
    },
    asked: () => asked,
    requests: () => count.requests,
    connections: () => ({ ever: count.ever, now: sockets.size }),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const WORDS: Readonly<Record<string, object>> = {
  'deliverable.test': { status: 'valid', reason: null },
  'undeliverable.test': { status: 'invalid', reason: 'Mailbox not found' },
  'risky.test': { status: 'accept_all', reason: null },
};

function saidOf(email: string): object[] {
  const words = WORDS[email.split('@').at(-1) ?? ''];
  return words ? [{ email, ...words }] : [];
}

function answer(response: ServerResponse, status: number, body: object | string, type = 'application/json'): void {
  response.writeHead(status, { 'Content-Type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
}
