/** A vendor with an HTTP interface for messages, on this machine, for the conformance suite. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';
import type { TakenMessage, TestVendor, VendorBehaviour, WebhookCase } from '../../src/plugin-testing/test-vendor.ts';
import { untilCutOff } from './until-cut-off.ts';

export const API_KEY = 'a-secret-of-the-vendor';
const SLOW_MS = 200;

export async function startHttpVendor(): Promise<TestVendor> {
  let how: VendorBehaviour = 'takes';
  const sockets = new Set<Socket>();
  const count = { ever: 0, most: 0 };
  const taken = new Map<string, TakenMessage>();
  const server = createServer(
    untilCutOff(async (request, response) => {
      const chunks = await request.toArray();
      if (request.headers.authorization !== `Bearer ${API_KEY}`) return answer(response, 401, {});
      if (how === 'slow') await sleep(SLOW_MS);
      if (request.method === 'GET') return answer(response, 200, {});
      if (how === 'refuses') return answer(response, 400, { reason: 'no such address' });
      if (how === 'defers') return answer(response, 429, { reason: 'later' });
      const { to, key } = headersOf(request);
      const message = taken.get(key) ?? { to, id: `m${taken.size + 1}`, content: Buffer.concat(chunks).toString() };
      taken.set(key, message);
      if (how !== 'never answers') answer(response, 200, { id: message.id });
    }),
  );
  server.on('connection', (socket) => {
    if (how === 'is away') return void socket.destroy();
    sockets.add(socket.on('close', () => sockets.delete(socket)));
    count.ever++;
    count.most = Math.max(count.most, sockets.size);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    settings: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, api_key: API_KEY },
    behave(next) {
      how = next;
      if (next === 'is away') for (const socket of sockets) socket.destroy();
    },
    taken: () => [...taken.values()],
    connections: () => ({ ...count, now: sockets.size }),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What the vendor posts: a bounce, and an event of a kind that the driver does not know. */
export function vendorReports(): WebhookCase[] {
  const bounce = { event: 'bounce', id: 'e1', message: 'm1' };
  return [
    {
      request: signed([bounce, { event: 'painted', id: 'e2', message: 'm1' }]),
      events: [
        { kind: 'bounced', id: 'e1', messageId: 'm1', bounceType: 'hard' },
        { kind: 'ignored', name: 'painted' },
      ],
    },
  ];
}

export function signatureOf(body: Uint8Array): string {
  return createHmac('sha256', API_KEY).update(body).digest('hex');
}

function signed(events: readonly object[]): WebhookRequest {
  const body = Buffer.from(JSON.stringify(events));
  return { method: 'POST', headers: { 'x-signature': signatureOf(body) }, query: {}, body, receivedAt: new Date() };
}

function headersOf({ headers }: IncomingMessage): { to: string; key: string } {
  return { to: decodeURIComponent(String(headers['x-to'])), key: String(headers['x-key']) };
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
