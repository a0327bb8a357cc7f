/**
 * Requests to addresses that customers or other strangers chose: public ones only (public-address.ts), over http and https on
 * their own ports, without redirects, limited in time and size. All requests for customers use this.
 */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { addressGuard, type FindAddresses } from './public-address.ts';

export interface OutboundOptions {
  /** Hosts and networks the operator allows besides public ones; on these any port. */
  readonly allowed: readonly string[];
  /** From the look-up of the name to the last byte. */
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** Ports that are allowed besides 80 and 443. */
  readonly ports?: readonly string[];
  /** Finds the addresses of a name; absent: as the system does. */
  readonly find?: FindAddresses;
  /** Posted as a form; absent: a GET. */
  readonly form?: Readonly<Record<string, string>>;
}

/** A request of any kind, whose answer of any status is wanted. */
export interface OutboundCall extends Omit<OutboundOptions, 'form'> {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: Uint8Array | undefined;
}

export interface OutboundAnswer {
  readonly status: number;
  /** By small names; several of one name are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly content: Buffer;
}

export interface Outbound {
  readonly url: URL;
  readonly contentType: string;
  /** Throws when it is too long, takes too long or breaks off. */
  readonly body: AsyncIterable<Buffer>;
  /** Closes the connection; always call it. */
  close(): void;
}

/** Of an address. */
export const URL_LENGTH_MAX = 2_048;
const TOO_SLOW = 'The address took too long to answer.';
const BROKEN_OFF = 'The connection broke during the answer.';
const PORTS = new Set(['', '80', '443']);

/**
 * Requests `text` and returns when the headers of a 200 are there. Throws an Error with a message for the person who chose the
 * address.
 */
export async function openOutbound(text: string, options: OutboundOptions): Promise<Outbound> {
  const { url, signal, answer } = await request(text, options, partsOfForm(options.form));
  if (answer.statusCode !== 200) {
    answer.destroy();
    const isRedirect = answer.statusCode !== undefined && answer.statusCode >= 300 && answer.statusCode < 400;
    throw new Error(
      `The address answered ${answer.statusCode}${isRedirect ? ', and redirects are not followed' : ''}.`,
    );
  }
  refuseTooLarge(answer, options.bytesMax);
  return {
    url,
    contentType: answer.headers['content-type'] ?? '',
    body: bounded(answer, { bytesMax: options.bytesMax, signal }),
    close: () => void answer.destroy(),
  };
}

/** The whole answer to a posted form, as text. Throws as `openOutbound` does. */
export async function postOutboundForm(text: string, options: OutboundOptions): Promise<string> {
  const answer = await openOutbound(text, options);
  try {
    return (await collected(answer.body)).toString('utf8');
  } finally {
    answer.close();
  }
}

/** The whole answer to any request; redirects are answers, too. Throws an Error with a sentence when there is none. */
export async function callOutbound(text: string, options: OutboundCall): Promise<OutboundAnswer> {
  const { method, headers, content, bytesMax } = options;
  const { answer, signal } = await request(text, options, { method, headers, content });
  try {
    refuseTooLarge(answer, bytesMax);
    return {
      status: answer.statusCode ?? 0,
      headers: Object.fromEntries(
        Object.entries(answer.headersDistinct).map(([name, values = []]) => [name, values.join(', ')]),
      ),
      content: await collected(bounded(answer, { bytesMax, signal })),
    };
  } finally {
    answer.destroy();
  }
}

type RequestParts = Pick<OutboundCall, 'method' | 'headers' | 'content'>;

/** Sends the request if the address may be reached; returns when the headers of the answer are there. */
async function request(text: string, options: OutboundOptions, parts: RequestParts) {
  const url = readUrl(text);
  const guard = addressGuard(options.allowed, options.find);
  const signal = AbortSignal.timeout(options.timeoutMs);
  const refusal = await Promise.race([guard.refusal(url.hostname), timedOut(signal)]);
  if (refusal) throw new Error(refusal);
  if (!isPortAllowed(url, options)) throw new Error(PORTS_RULE);
  return { url, signal, answer: await sendRequest(url, { ...parts, signal, lookup: guard.lookup }) };
}

export const PORTS_RULE = 'Only the ports 80 and 443 are allowed.';

/** Whether a port may be used for somebody who is not the operator: a web server's, a named one, or any of a host that the operator allows. */
export function isPortAllowed(url: URL, { ports = [], allowed }: Pick<OutboundOptions, 'ports' | 'allowed'>): boolean {
  return (
    PORTS.has(url.port) || ports.includes(url.port) || allowed.some((entry) => entry.toLowerCase() === bareHost(url))
  );
}

function partsOfForm(form: OutboundOptions['form']): RequestParts {
  if (!form) return { method: 'GET', headers: {}, content: undefined };
  const content = Buffer.from(new URLSearchParams(form).toString());
  return { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, content };
}

async function collected(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function refuseTooLarge(answer: IncomingMessage, bytesMax: number): void {
  if (Number(answer.headers['content-length'] ?? 0) <= bytesMax) return;
  answer.destroy();
  throw tooLarge(bytesMax);
}

function readUrl(text: string): URL {
  const url = text.length <= URL_LENGTH_MAX && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new Error(`The url must be an http or https address of at most ${URL_LENGTH_MAX} characters.`);
  if (url.username !== '' || url.password !== '') throw new Error('The url must not contain a user name or password.');
  return url;
}

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').toLowerCase();
}

/** A look-up cannot be cancelled; after the time limit nobody waits for it. */
async function timedOut(signal: AbortSignal): Promise<string> {
  if (!signal.aborted) await once(signal, 'abort');
  return TOO_SLOW;
}

function sendRequest(
  url: URL,
  {
    signal,
    lookup,
    method,
    headers,
    content,
  }: RequestParts & Required<Pick<http.RequestOptions, 'lookup'>> & { signal: AbortSignal },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const library = url.protocol === 'https:' ? https : http;
    const req = library.request(url, {
      ...{ method, signal, lookup, agent: false },
      headers: {
        Accept: '*/*',
        'User-Agent': 'Mailwright',
        ...headers,
        // A compressed answer would have to be unpacked to be counted.
        'Accept-Encoding': 'identity',
        ...(content === undefined ? {} : { 'Content-Length': content.byteLength }),
      },
    });
    req.on('response', resolve);
    req.on('error', (error) => reject(new Error(signal.aborted ? TOO_SLOW : error.message)));
    req.end(content);
  });
}

async function* bounded(
  answer: IncomingMessage,
  { bytesMax, signal }: { bytesMax: number; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of untilBroken(answer, signal)) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    yield chunk;
  }
  if (!answer.complete) throw new Error(BROKEN_OFF);
}

/** Node reports a broken connection as `aborted`, whoever broke it. */
async function* untilBroken(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator {
  try {
    yield* answer;
  } catch (error) {
    throw new Error(signal.aborted ? TOO_SLOW : BROKEN_OFF, { cause: error });
  }
}

function tooLarge(bytesMax: number): Error {
  return new Error(`The answer is larger than ${Math.floor(bytesMax / 1_048_576)} MB.`);
}
