/**
 * A vendor of mail with a web interface, on this machine: what the doubles of all vendors share. Each adds how its requests and answers
 * look, from the vendor's documents. It can be told to behave as the rules of the conformance suite need it, and to answer by a script.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SettingsInput } from '../../src/plugin-api/index.ts';
import type { TakenMessage, TestVendor, VendorBehaviour } from '../../src/plugin-testing/test-vendor.ts';
import { untilCutOff } from './until-cut-off.ts';

export interface ApiRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is written as JSON, a text as it is. */
  readonly body?: object | string;
}

/** An answer, or what happens to the connection instead of one. */
export type ScriptedAnswer =
  | ApiAnswer
  /** Ends the connection after the request was read; `taken`: the message was accepted before. */
  | 'cut'
  | 'taken and cut'
  /** Half of the answer, then the end. */
  | { readonly half: ApiAnswer };

export interface ApiVendorParts {
  /** Settings that lead to the vendor at this address. */
  settings(origin: string): SettingsInput;
  /** Whether the credentials are right, and what it answers else. */
  refusalOf(request: ApiRequest): ApiAnswer | undefined;
  isSend(request: ApiRequest): boolean;
  /** The message of a request to send, or why it is not valid. */
  messageOf(request: ApiRequest): Promise<Omit<TakenMessage, 'id'> | ApiAnswer> | Omit<TakenMessage, 'id'> | ApiAnswer;
  /** The answer to a message that it has taken. */
  accepted(message: TakenMessage): ApiAnswer;
  /** By which its reports name the nth message it has taken. */
  idOf(number: number): string;
  /** Any other authorized request: the test of the settings, and more. */
  other(request: ApiRequest): ApiAnswer;
  readonly refuses: ApiAnswer;
  readonly defers: ApiAnswer;
}

export interface ApiVendor extends TestVendor {
  readonly origin: string;
  /** Answers the next requests to send so, in turn; after that as it behaves. */
  script(answers: readonly ScriptedAnswer[]): void;
  /** For every request to send: the answer, or undefined to behave as usual. */
  answerBy(choose: ((request: ApiRequest) => ScriptedAnswer | undefined) | undefined): void;
  /** For every other authorized request: the answer, or undefined to behave as usual. */
  answerOthersBy(choose: ((request: ApiRequest) => ApiAnswer | undefined) | undefined): void;
  /** From now on messages are counted, and not kept: for many. */
  keepNone(): void;
  /** How many it has taken. */
  count(): number;
  /** How long it takes for an answer. */
  answerAfterMs(ms: number): void;
  /** All requests, without those that were not authorized. */
  requests(): readonly ApiRequest[];
}

const SLOW_MS = 200;

export async function startApiVendor(parts: ApiVendorParts): Promise<ApiVendor> {
  let how: VendorBehaviour = 'takes';
  let delayMs = 0;
  let choose: ((request: ApiRequest) => ScriptedAnswer | undefined) | undefined;
  let chooseOther: ((request: ApiRequest) => ApiAnswer | undefined) | undefined;
  const scripted: ScriptedAnswer[] = [];
  const sockets = new Set<Socket>();
  const count = { ever: 0, most: 0 };
  const taken: TakenMessage[] = [];
  const requests: ApiRequest[] = [];
  let messages = 0;
  let isKeeping = true;
  const take = (message: Omit<TakenMessage, 'id'>): ApiAnswer => {
    const whole = { ...message, id: parts.idOf(++messages) };
    if (isKeeping) taken.push(whole);
    return parts.accepted(whole);
  };
  const toSend = async (request: ApiRequest): Promise<ScriptedAnswer | 'silence'> => {
    if (how === 'slow') await sleep(SLOW_MS);
    else if (delayMs > 0) await sleep(delayMs);
    const next = scripted.shift() ?? choose?.(request);
    if (next !== undefined && next !== 'taken and cut') return next;
    if (how === 'refuses') return parts.refuses;
    if (how === 'defers') return parts.defers;
    const message = await parts.messageOf(request);
    if ('status' in message) return message;
    const answer = take(message);
    if (next === 'taken and cut') return 'cut';
    return how === 'never answers' ? 'silence' : answer;
  };
  const server = createServer(
    untilCutOff(async (req, res) => {
      const url = new URL(req.url ?? '/', 'http://vendor');
      const body = Buffer.concat(await req.toArray());
      const request = {
        method: req.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: req.headers,
        body,
      };
      const refusal = parts.refusalOf(request);
      if (refusal) return write(res, refusal);
      if (isKeeping) requests.push(request);
      const answer = parts.isSend(request) ? await toSend(request) : (chooseOther?.(request) ?? parts.other(request));
      if (answer === 'silence') return;
      if (answer === 'cut' || answer === 'taken and cut') return void req.socket.destroy();
      if ('half' in answer) return writeHalf(res, answer.half);
      write(res, answer);
    }),
  );
  server.keepAliveTimeout = 30_000;
  server.on('connection', (socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)));
    count.ever++;
    count.most = Math.max(count.most, sockets.size);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const stopListening = () => new Promise((resolve) => server.close(resolve));
  return {
    origin,
    settings: parts.settings(origin),
    behave(next) {
      if (next === 'is away') {
        void stopListening();
        for (const socket of sockets) socket.destroy();
      } else if (how === 'is away') server.listen(port, '127.0.0.1');
      how = next;
    },
    script: (answers) => void scripted.push(...answers),
    answerBy: (by) => void (choose = by),
    answerOthersBy: (by) => void (chooseOther = by),
    keepNone: () => void (isKeeping = false),
    count: () => messages,
    answerAfterMs: (ms) => void (delayMs = ms),
    requests: () => requests,
    taken: () => taken,
    connections: () => ({ ...count, now: sockets.size }),
    async close() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await stopListening();
    },
  };
}

function write(res: ServerResponse, { status, headers = {}, body = '' }: ApiAnswer): void {
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  res.writeHead(status, { 'Content-Type': type, ...headers }).end(textOf(body));
}

function writeHalf(res: ServerResponse, { status, headers = {}, body = '' }: ApiAnswer): void {
  const text = textOf(body);
  res.writeHead(status, {
    'Content-Length': String(text.length + 100),
    'Content-Type': 'application/json',
    ...headers,
  });
  res.write(text.slice(0, Math.ceil(text.length / 2)), () => res.destroy());
}

function textOf(body: object | string): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}
