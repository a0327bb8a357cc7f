/** A web server that receives webhooks, answers as it is told, and remembers what came. */
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { localServer } from './local-server.ts';

export interface ReceivedHook {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HookAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly delayMs?: number;
}

export interface WebhookReceiver {
  /** `http://127.0.0.1:<port>`. */
  readonly origin: string;
  readonly received: ReceivedHook[];
  /** Of one path. */
  at(path: string): readonly ReceivedHook[];
  /** The most requests that were open at one time. */
  openMax(): number;
}

/** `answer` gets each request, and how many came to its path before. */
export async function webhookReceiver(
  answer: (hook: ReceivedHook, before: number) => HookAnswer = () => ({ status: 200 }),
): Promise<WebhookReceiver> {
  const received: ReceivedHook[] = [];
  const at = (path: string) => received.filter((hook) => hook.path === path);
  let open = 0;
  let openMax = 0;
  const host = await localServer(async (req, res) => {
    open += 1;
    openMax = Math.max(openMax, open);
    res.on('close', () => (open -= 1));
    const chunks: Buffer[] = [];
    for await (const chunk of req) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const hook = {
      ...{ path: req.url ?? '', method: req.method ?? '', headers: req.headers },
      body: Buffer.concat(chunks).toString('utf8'),
    };
    const before = at(hook.path).length;
    received.push(hook);
    const { status, headers = {}, body = '', delayMs = 0 } = answer(hook, before);
    if (delayMs > 0) await sleep(delayMs);
    res.writeHead(status, headers).end(body);
  });
  return { origin: `http://127.0.0.1:${host.split(':')[1] ?? ''}`, received, at, openMax: () => openMax };
}
