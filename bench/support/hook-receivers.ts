/**
 * Ten web servers that receive webhooks (bar 4 of the webhooks): five are well, three are dead in three ways, one answers after 9 seconds, one
 * fails half of the time. They check every request: signatures, and that an id always comes with the same body.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/db/free-port.ts';

export type ReceiverKind = 'well' | 'slow' | 'half' | 'refuses' | 'silent' | 'resets';

export interface HookReceiver {
  readonly kind: ReceiverKind;
  readonly origin: string;
  /** Of the webhook that leads here; the key of the signatures. */
  secret: string;
  /** How often each id was answered with 2xx. */
  readonly taken: Map<string, number>;
  /** What was wrong with requests, the first few. */
  readonly faults: string[];
  requests: number;
  openMax: number;
  close(): void;
}

export const RECEIVER_KINDS: readonly ReceiverKind[] = [
  ...(['well', 'well', 'well', 'well', 'well'] as const),
  ...(['refuses', 'silent', 'resets', 'slow', 'half'] as const),
];
const SLOW_MS = 9_000;
const FAULTS_MAX = 10;

/** Starts one. */
export async function startHookReceiver(kind: ReceiverKind): Promise<HookReceiver> {
  const receiver = { kind, secret: '', taken: new Map<string, number>(), faults: [], requests: 0, openMax: 0 };
  if (kind === 'refuses')
    return { ...receiver, origin: `http://127.0.0.1:${await freePort()}`, close: () => undefined };
  if (kind === 'resets') {
    const server = createTcpServer((socket) => socket.on('error', () => undefined).resetAndDestroy());
    return started(receiver, server.listen(0, '127.0.0.1'));
  }
  const server = createServer();
  const whole = await started(receiver, server.listen(0, '127.0.0.1'));
  receive(server, whole);
  return whole;
}

type Unstarted = Omit<HookReceiver, 'origin' | 'close'>;

async function started(receiver: Unstarted, server: ReturnType<typeof createTcpServer>): Promise<HookReceiver> {
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, { origin: `http://127.0.0.1:${port}`, close: () => void server.close() });
}

function receive(server: Server, receiver: HookReceiver): void {
  let open = 0;
  const bodies = new Map<string, string>();
  server.keepAliveTimeout = 10_000;
  server.on('request', async (req, res) => {
    receiver.requests += 1;
    receiver.openMax = Math.max(receiver.openMax, ++open);
    res.on('close', () => (open -= 1));
    const body = await bodyOf(req);
    if (receiver.kind === 'silent') return;
    if (receiver.kind === 'half' && Math.random() < 0.5) return res.writeHead(500).end();
    if (receiver.kind === 'slow') await sleep(SLOW_MS);
    const id = String(req.headers['x-service-delivery']);
    const fault =
      faultOf(req, body, receiver.secret) ?? ((bodies.get(id) ?? body) === body ? undefined : 'another body');
    if (fault !== undefined && receiver.faults.length < FAULTS_MAX) receiver.faults.push(`${id}: ${fault}`);
    bodies.set(id, body);
    receiver.taken.set(id, (receiver.taken.get(id) ?? 0) + 1);
    return res.writeHead(204).end();
  });
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Both signatures, and that they were made for this body now. */
function faultOf({ headers }: IncomingMessage, body: string, secret: string): string | undefined {
  const [id, at] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])];
  if (headers['x-service-delivery'] !== id || headers['x-service-timestamp'] !== at) return 'its headers differ';
  if (Math.abs(Date.now() / 1_000 - Number(at)) > 300) return 'its timestamp is old';
  const ours = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
  if (!same(`sha256=${ours}`, headers['x-service-signature'])) return 'X-Service-Signature is wrong';
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const standard = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  return same(`v1,${standard}`, headers['webhook-signature']) ? undefined : 'webhook-signature is wrong';
}

function same(wanted: string, given: string | string[] | undefined): boolean {
  const [a, b] = [Buffer.from(wanted), Buffer.from(String(given))];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
