/**
 * The body of a GraphQL request over HTTP: read up to its limit and counted before it is parsed (lib/bounded-body.ts). Yoga gets
 * the parsed result.
 */
import type { IncomingMessage } from 'node:http';
import type { GraphQLParams } from 'graphql-yoga';
import { BODY_BYTES_MAX, bodyLimit, excessOf, readBody, STRANGERS_BODY_BYTES_MAX } from '../lib/bounded-body.ts';

export interface BodyRefusal {
  readonly status: 400 | 413;
  readonly code: string;
  readonly message: string;
}

export type OperationBody = { readonly params: GraphQLParams } | { readonly refusal: BodyRefusal };

/** The operation in the body of a POST. `isKnown`: whether the caller may send a large one. */
export async function readOperation(req: IncomingMessage, isKnown: () => Promise<boolean>): Promise<OperationBody> {
  const bytesMax = await bodyLimit(req, isKnown);
  const bytes = await readBody(req, bytesMax);
  if (!bytes) return { refusal: tooLarge(bytesMax) };
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
  return { status: 400, code: 'BAD_REQUEST', message };
}

function tooLarge(bytesMax: number): BodyRefusal {
  const message =
    bytesMax === STRANGERS_BODY_BYTES_MAX
      ? `A body may have ${STRANGERS_BODY_BYTES_MAX / 1024} KB without a valid token, and ${BODY_BYTES_MAX / 1024 / 1024} MB with one.`
      : `A body may have ${BODY_BYTES_MAX / 1024 / 1024} MB.`;
  return { status: 413, code: 'REQUEST_ENTITY_TOO_LARGE', message };
}
