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
  const url = readUrl(text);
  const guard = addressGuard(options.allowed, options.find);
  const signal = AbortSignal.timeout(options.timeoutMs);
  const refusal = await Promise.race([guard.refusal(url.hostname), timedOut(signal)]);
  if (refusal) throw new Error(refusal);
  const isUsualPort = PORTS.has(url.port) || options.ports?.includes(url.port) === true;
  if (!isUsualPort && !options.allowed.some((entry) => entry.toLowerCase() === bareHost(url)))
    throw new Error('Only the ports 80 and 443 are allowed.');
  const answer = await sendRequest(url, {
    signal,
    lookup: guard.lookup,
    ...(options.form ? { form: options.form } : {}),
  });
  if (answer.statusCode !== 200) {
    answer.destroy();
    const isRedirect = answer.statusCode !== undefined && answer.statusCode >= 300 && answer.statusCode < 400;
    throw new Error(
      `The address answered ${answer.statusCode}${isRedirect ? ', and redirects are not followed' : ''}.`,
    );
  }
  if (Number(answer.headers['content-length'] ?? 0) > options.bytesMax) {
    answer.destroy();
    throw tooLarge(options.bytesMax);
  }
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
    const chunks: Buffer[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    answer.close();
  }
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
    form,
  }: Pick<OutboundOptions, 'form'> & Pick<http.RequestOptions, 'lookup'> & { signal: AbortSignal },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { request } = url.protocol === 'https:' ? https : http;
    const body = form && new URLSearchParams(form).toString();
    const req = request(url, {
      ...(body === undefined ? {} : { method: 'POST' }),
      signal,
      ...(lookup ? { lookup } : {}),
      agent: false,
      // A compressed answer would have to be unpacked to be counted.
      headers: {
        Accept: '*/*',
        'Accept-Encoding': 'identity',
        'User-Agent': 'Mailwright',
        ...(body === undefined
          ? {}
          : { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': Buffer.byteLength(body) }),
      },
    });
    req.on('response', resolve);
    req.on('error', (error) => reject(new Error(signal.aborted ? TOO_SLOW : error.message)));
    req.end(body);
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
