/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): of all POST calls with one key, one runs, and all get its
 * answer, for a day. `app` passes in the store and decides whose calls are kept.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { RequestParameters, ParameterValue } from './request-parameters.ts';
import { RestError, invalid } from './errors.ts';

/** An answer as it is sent; `upload` is the digest of the file in the call. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly upload: string | null;
}

const keptAnswer = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  upload: z.string().nullable(),
});

/** Reads an answer from its stored JSON. */
export function parseKeptAnswer(json: string): KeptAnswer {
  return keptAnswer.parse(JSON.parse(json));
}

export interface IdempotentCall {
  readonly token: string | null;
  /** Used only without a token. */
  readonly session?: string | undefined;
  readonly ipAddress: string;
  readonly key: string;
  /** A text of everything that identifies the call. */
  readonly content: string;
}

export type Begun =
  /** A caller whose calls are not kept. */
  | { readonly kind: 'unknown-caller' }
  | { readonly kind: 'first'; keep(answer: KeptAnswer): Promise<void>; discard(): Promise<void> }
  | { readonly kind: 'answered'; readonly answer: KeptAnswer }
  /** The key was used with another call. */
  | { readonly kind: 'other-content' }
  /** The first call is still running. */
  | { readonly kind: 'running' }
  /** The first call ended without an answer: its process died. */
  | { readonly kind: 'broken-off' };

export interface IdempotentCalls {
  begin(call: IdempotentCall): Promise<Begun>;
}

// A UUID has 36 characters; a key may also be a business number.
const KEY_PATTERN = /^[\x21\x23-\x7e]{1,255}$/;
const RUNNING_RETRY_SECONDS = 2;
/** Answers that a retry would get again. A refusal by rights, rate or defect may change. */
const KEPT_STATUSES: ReadonlySet<number> = new Set([200, 201, 202, 404, 422]);

/** The key of a request, with or without the quotes of the draft; undefined when there is none. Throws RestError 422. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const text = [header].flat().join(', ').trim();
  const key = text.replace(/^"(.*)"$/, '$1');
  if (KEY_PATTERN.test(key)) return key;
  throw wrongKey('The Idempotency-Key may have 255 visible characters without spaces, and comes once.');
}

/** One text for one call, whatever the order of its parameters. */
export function contentOf(parts: readonly string[], given: RequestParameters): string {
  return JSON.stringify([...parts, sorted(given)]);
}

function sorted(value: ParameterValue): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(sorted);
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, sorted(inner)]);
}

function isList(value: object): value is readonly ParameterValue[] {
  return Array.isArray(value);
}

/** Runs the call unless it was run before; returns the answer of the first run. Throws RestError 422 or 503. */
export async function runOnce(
  begun: Begun,
  run: () => Promise<KeptAnswer>,
  uploadOf: () => Promise<string | null>,
): Promise<KeptAnswer> {
  switch (begun.kind) {
    case 'unknown-caller':
      return run();
    case 'first':
      return runFirst(begun, run);
    case 'answered':
      // A refusal before the file was read applies to any file.
      if (begun.answer.upload === null || begun.answer.upload === (await uploadOf())) return begun.answer;
      throw otherContent();
    case 'other-content':
      throw otherContent();
    case 'running':
      throw new RestError(
        503,
        { message: 'The first call with this Idempotency-Key is still running.' },
        { 'Retry-After': String(RUNNING_RETRY_SECONDS) },
      );
    case 'broken-off':
      throw wrongKey(
        'The server stopped during the first call with this Idempotency-Key. Check whether that call took effect, then use a new key.',
      );
  }
}

async function runFirst(
  { keep, discard }: Extract<Begun, { kind: 'first' }>,
  run: () => Promise<KeptAnswer>,
): Promise<KeptAnswer> {
  let answer: KeptAnswer;
  try {
    answer = await run();
  } catch (error) {
    await discard();
    throw error;
  }
  await (KEPT_STATUSES.has(answer.status) ? keep(answer) : discard());
  return answer;
}

/** The digest of a text. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** A file's pieces, and its digest once all were read. */
export function digesting(content: AsyncIterable<unknown>): {
  readonly content: AsyncIterable<unknown>;
  readonly digest: () => string | null;
} {
  const hash = createHash('sha256');
  let digest: string | null = null;
  async function* pieces() {
    for await (const piece of content) {
      if (Buffer.isBuffer(piece)) hash.update(piece);
      yield piece;
    }
    digest = hash.digest('base64');
  }
  return { content: pieces(), digest: () => digest };
}

function otherContent(): RestError {
  return wrongKey('This Idempotency-Key was used for another call.');
}

function wrongKey(sentence: string): RestError {
  return invalid({ idempotency_key: [sentence] });
}
