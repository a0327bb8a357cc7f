/** From the bytes of a request to its parameters: query, urlencoded, multipart and JSON bodies (decisions D3, D5). */
import type { IncomingMessage } from 'node:http';
import {
  BODY_BYTES_MAX,
  bodyLimit,
  excessOf,
  hasFewPairs,
  knownBytesMax,
  readBody,
  STRANGERS_BODY_BYTES_MAX,
} from '../lib/bounded-body.ts';
import { RateLimitedError } from '../lib/errors.ts';
import { LateBodyError, type LargeBodyRight } from '../lib/large-bodies.ts';
import {
  mergeParameters,
  PARAMETERS_MAX,
  tooManyParameters,
  type RequestParameters,
  type Parameter,
} from './request-parameters.ts';
import { RestError, invalid } from './errors.ts';
import { readMultipart, type FilesTaken, type IncomingFile } from './multipart.ts';

export interface ReadRequest {
  readonly given: RequestParameters;
  /** The first file of a multipart body, on rows that take files: still streaming. */
  readonly file?: IncomingFile;
  /** The request's parameters with the fields after the file; call it when the file was read to its end. */
  completeParameters(): Promise<RequestParameters>;
}

export interface Reading {
  readonly query: string;
  readonly files: FilesTaken;
  /** Whether the token in the header or the query, or else this one, is valid: only then may a body be large. */
  isKnown(inBody?: string): Promise<boolean>;
  /** Absent: the row takes no html of a campaign, and so no large body. */
  readonly large: LargeBodyRight | undefined;
}

/** Reads everything except the file. Throws RestError 413, 415 or 422. */
export async function readRequest(req: IncomingMessage, reading: Reading): Promise<ReadRequest> {
  const { query, files } = reading;
  const fromQuery = formParameters(query);
  const type = (req.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  refuseEncoded(req);
  if (type === 'multipart/form-data' && hasBody(req)) {
    // Nothing is escaped here: the usual limit is enough for any html.
    const bytesMax = await bodyLimit(req, { isKnown: () => reading.isKnown() });
    const { parameters, file, later } = await readMultipart(req, {
      files,
      bytesMax,
      tooLong: tooLarge(bytesMax, BODY_BYTES_MAX),
    });
    const completeParameters = async () => mergeParameters([...fromQuery, ...parameters, ...(await later())]);
    return { given: mergeParameters([...fromQuery, ...parameters]), ...(file ? { file } : {}), completeParameters };
  }
  const body = hasBody(req) ? bodyParameters(await readText(req, reading), type) : [];
  const given = mergeParameters([...fromQuery, ...body]);
  return { given, completeParameters: () => Promise.resolve(given) };
}

/** Whether there is a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return length === undefined ? req.headers['transfer-encoding'] !== undefined : length !== '0';
}

function refuseEncoded(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity' && hasBody(req))
    throw new RestError(415, { message: 'Send the body without Content-Encoding.' });
}

async function readText(req: IncomingMessage, { isKnown, large }: Reading): Promise<string> {
  const bytesMax = await bodyLimit(req, { isKnown: () => isKnown(), large });
  const mayGoOn = (start: Buffer) => isKnown(tokenIn(start));
  const bytes = await readBody(req, { bytesMax, large, mayGoOn }).catch(refusedLarge);
  if (!bytes) throw tooLarge(bytesMax, knownBytesMax({ large }));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid({ body: ['The body is not valid UTF-8.'] });
  }
}

/** Clients of this API put the token into the body (decision D5): it is found only in the part that is read for everybody. */
const TOKEN_IN_BODY = /(?:"api_token" {0,4}: {0,4}"|(?:^|&)api_token=)([\w-]{1,200})/;

function tokenIn(start: Buffer): string | undefined {
  return TOKEN_IN_BODY.exec(start.toString('latin1'))?.[1];
}

/** Clients often set a wrong content type: then the body itself decides. */
function bodyParameters(body: string, type: string): Parameter[] {
  const text = body.trim();
  if (text === '') return [];
  if (type === 'application/json' || type.endsWith('+json')) return jsonParameters(text);
  if (text.startsWith('{') && text.endsWith('}')) return jsonParameters(text);
  if (type === 'application/x-www-form-urlencoded') return formParameters(body);
  throw new RestError(415, {
    message: 'Send the body as application/json, application/x-www-form-urlencoded or multipart/form-data.',
  });
}

function jsonParameters(text: string): Parameter[] {
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw invalid({ body: ['The JSON body must be an object.'] });
}

function parseJson(text: string): unknown {
  const excess = excessOf(text);
  if (excess === 'values') throw tooManyParameters();
  if (excess === 'depth') throw invalid({ body: ['The JSON body is nested too deep.'] });
  try {
    return JSON.parse(text);
  } catch {
    throw invalid({ body: ['The body is not valid JSON.'] });
  }
}

function formParameters(text: string): Parameter[] {
  if (!hasFewPairs(text, PARAMETERS_MAX)) throw tooManyParameters();
  return [...new URLSearchParams(withBlanks(text))];
}

/** A plus means a blank. The parser takes 0.5 s for five million plus signs, and no time for blanks. */
function withBlanks(text: string): string {
  if (!text.includes('+')) return text;
  const bytes = Buffer.from(text);
  // In UTF-8 no other character has this byte.
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === PLUS) bytes[at] = BLANK;
  return bytes.toString();
}

const PLUS = 0x2b;
const BLANK = 0x20;

function refusedLarge(error: unknown): never {
  if (error instanceof RateLimitedError)
    throw new RestError(429, { message: error.message }, { 'Retry-After': String(error.retryAfterSeconds) });
  // The rest of the body is on its way, and nobody reads it.
  if (error instanceof LateBodyError) throw new RestError(408, { message: error.message }, { Connection: 'close' });
  throw error;
}

function tooLarge(bytesMax: number, knownMax: number): RestError {
  const megabytes = `${knownMax / 1024 / 1024} MB`;
  const message =
    bytesMax === STRANGERS_BODY_BYTES_MAX
      ? `A request body may have ${STRANGERS_BODY_BYTES_MAX / 1024} KB, and ${megabytes} with a valid token in the Authorization header, the query, or the first ${STRANGERS_BODY_BYTES_MAX / 1024} KB of the body.`
      : `A request body may have ${megabytes}.`;
  return new RestError(413, { message });
}
