/**
 * The body of a GraphQL request over HTTP: read up to its limit and counted before it is parsed (lib/bounded-body.ts). Yoga gets
 * the parsed result.
 */
import type { IncomingMessage } from 'node:http';
import type { GraphQLParams } from 'graphql-yoga';
import {
  bodyLimit,
  excessOf,
  knownBytesMax,
  readBody,
  STRANGERS_BODY_BYTES_MAX,
  type BodyRule,
} from '../lib/bounded-body.ts';
import { RateLimitedError } from '../lib/errors.ts';
import { LateBodyError } from '../lib/large-bodies.ts';

export interface BodyRefusal {
  readonly status: 400 | 408 | 413 | 429;
  readonly message: string;
  readonly extensions: { readonly code: string; readonly retryAfterSeconds?: number };
  readonly headers?: Readonly<Record<string, string>>;
}

export type OperationBody = { readonly params: GraphQLParams } | { readonly refusal: BodyRefusal };

/** The operation in the body of a POST; one with a campaign's html may be large. */
export async function readOperation(req: IncomingMessage, rule: BodyRule): Promise<OperationBody> {
  const bytesMax = await bodyLimit(req, rule);
  const bytes = await readBody(req, { bytesMax, large: rule.large }).catch(refusedLarge);
  if (bytes && 'refusal' in bytes) return bytes;
  if (!bytes) return { refusal: tooLarge(bytesMax, knownBytesMax(rule)) };
  const text = bytes.toString();
  const excess = excessOf(text);
  if (excess !== undefined)
    return { refusal: broken(`The body has too many ${excess === 'depth' ? 'levels' : 'values'}.`) };
  try {
    const params: unknown = JSON.parse(text);
    if (isObject(params)) return { params };
    return { refusal: broken('POST body is expected to be an object.') };
  } catch {
    return { refusal: broken('POST body sent invalid JSON.') };
  }
}

/** Yoga checks its members. */
function isObject(value: unknown): value is GraphQLParams {
  return typeof value === 'object' && value !== null;
}

function broken(message: string): BodyRefusal {
  return { status: 400, message, extensions: { code: 'BAD_REQUEST' } };
}

function tooLarge(bytesMax: number, knownMax: number): BodyRefusal {
  const message =
    bytesMax === STRANGERS_BODY_BYTES_MAX
      ? `A body may have ${STRANGERS_BODY_BYTES_MAX / 1024} KB without a valid token, and ${knownMax / 1024 / 1024} MB with one.`
      : `A body may have ${knownMax / 1024 / 1024} MB.`;
  return { status: 413, message, extensions: { code: 'REQUEST_ENTITY_TOO_LARGE' } };
}

function refusedLarge(error: unknown): { readonly refusal: BodyRefusal } {
  if (error instanceof RateLimitedError) {
    const { code, message, retryAfterSeconds } = error;
    const headers = { 'retry-after': String(retryAfterSeconds) };
    return { refusal: { status: 429, message, headers, extensions: { code, retryAfterSeconds } } };
  }
  if (error instanceof LateBodyError) {
    const { code, message } = error;
    // The rest of the body is on its way, and nobody reads it.
    return { refusal: { status: 408, message, headers: { connection: 'close' }, extensions: { code } } };
  }
  throw error;
}
