/** From the bytes of a request to its parameters: query, urlencoded, multipart and JSON bodies (decisions D3, D5). */
import type { IncomingMessage } from 'node:http';
import { buildBag, type Bag, type Parameter } from './bag.ts';
import { RestError, invalid } from './errors.ts';
import { readMultipart, type IncomingFile } from './multipart.ts';

/** A whole campaign with inlined images, or an array of a few thousand values. Files go another way. */
export const BODY_BYTES_MAX = 10 * 1024 * 1024;

export interface ReadRequest {
  readonly bag: Bag;
  /** The first file of a multipart body, on rows that take one: still streaming. */
  readonly file?: IncomingFile;
  /** The bag with the fields that came after the file; to be asked for when the file has been read to its end. */
  completeBag(): Promise<Bag>;
}

/** Reads everything but the file. Throws RestError 413, 415 or 422. */
export async function readRequest(req: IncomingMessage, query: string, takesFile: boolean): Promise<ReadRequest> {
  const fromQuery = formParameters(query);
  const type = (req.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  refuseEncoded(req);
  if (type === 'multipart/form-data' && hasBody(req)) {
    const { parameters, file, later } = await readMultipart(req, takesFile);
    const completeBag = async () => buildBag([...fromQuery, ...parameters, ...(await later())]);
    return { bag: buildBag([...fromQuery, ...parameters]), ...(file ? { file } : {}), completeBag };
  }
  const body = hasBody(req) ? bodyParameters(await readBody(req), type) : [];
  const bag = buildBag([...fromQuery, ...body]);
  return { bag, completeBag: () => Promise.resolve(bag) };
}

/** Whether a body follows, however long. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return length === undefined ? req.headers['transfer-encoding'] !== undefined : length !== '0';
}

function refuseEncoded(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity' && hasBody(req))
    throw new RestError(415, { message: 'Send the body without Content-Encoding.' });
}

async function readBody(req: IncomingMessage): Promise<string> {
  if (Number(req.headers['content-length'] ?? 0) > BODY_BYTES_MAX) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  // Left open on an early end: the connection still has to carry the answer.
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > BODY_BYTES_MAX) throw tooLarge();
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw invalid({ body: ['The body is not valid UTF-8.'] });
  }
}

/** Clients label bodies carelessly: what it looks like decides where the label does not fit. */
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
  try {
    return JSON.parse(text);
  } catch {
    throw invalid({ body: ['The body is not valid JSON.'] });
  }
}

function formParameters(text: string): Parameter[] {
  return [...new URLSearchParams(text)];
}

function tooLarge(): RestError {
  return new RestError(413, { message: `A request body may have ${BODY_BYTES_MAX / 1024 / 1024} MB.` });
}
