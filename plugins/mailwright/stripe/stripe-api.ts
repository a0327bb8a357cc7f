/**
 * Stripe's HTTP interface (docs.stripe.com/api): forms in, JSON out, one idempotency key for all attempts at a POST. Every answer becomes a
 * value or a StripeError, which says whether asking again can help.
 */
import { randomUUID } from 'node:crypto';
import { GatewayError, type PluginFetch } from '../../../src/plugin-api/index.ts';

const BASE = 'https://api.stripe.com/v1';
/** Fixes the shape of the answers. */
const VERSION = '2026-10-28.endive';
const TIMEOUT_MS = 12_000;
const PAGE_MAX = 100;
const MESSAGE_LENGTH_MAX = 300;

export type Json = Readonly<Record<string, unknown>>;
/** Members of objects and lists are written `a[b][0]`; undefined is left out. */
export type Form = { readonly [key: string]: string | number | bigint | boolean | Form | readonly Form[] | undefined };

/** What Stripe answered instead of what was asked for. */
export class StripeError extends GatewayError {
  readonly code: string | undefined;
  /** The payment intent that was declined, in the answer. */
  readonly paymentIntent: Json | undefined;

  constructor(kind: 'refused' | 'unavailable', message: string, error: Json = {}) {
    super(kind, message);
    this.code = textIn(error, 'code');
    this.paymentIntent = objectIn(error, 'payment_intent');
  }
}

export interface StripeApi {
  get(path: string, query?: Form): Promise<Json>;
  /** `key` is the same for all attempts at this act; undefined: each call is an act of its own. */
  post(path: string, form: Form, key?: string): Promise<Json>;
  delete(path: string): Promise<Json>;
}

export function stripeApi(request: PluginFetch, secretKey: string): StripeApi {
  const call = async (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { form = {}, key }: { form?: Form; key?: string },
  ) => {
    const body = new URLSearchParams(pairsOf(form)).toString();
    const query = method === 'GET' && body !== '' ? `?${body}` : '';
    const answer = await request(`${BASE}${path}${query}`, {
      method,
      timeoutMs: TIMEOUT_MS,
      headers: {
        Authorization: `Bearer ${secretKey}`,
        'Stripe-Version': VERSION,
        ...(method === 'POST' && {
          'Content-Type': 'application/x-www-form-urlencoded',
          'Idempotency-Key': key ?? randomUUID(),
        }),
      },
      ...(method === 'POST' && { body }),
    }).catch((error: unknown) => {
      throw new StripeError(
        'unavailable',
        `Stripe could not be reached: ${error instanceof Error ? error.message : ''}`,
      );
    });
    return readAnswer(answer.status, answer.text());
  };
  return {
    get: (path, query = {}) => call('GET', path, { form: query }),
    post: (path, form, key) => call('POST', path, { form, ...(key !== undefined && { key }) }),
    delete: (path) => call('DELETE', path, {}),
  };
}

/** The largest page that Stripe answers, after the object with this id. */
export function pageAfter(cursor: string | null): Form {
  return { limit: PAGE_MAX, ...(cursor !== null && { starting_after: cursor }) };
}

function readAnswer(status: number, text: string): Json {
  const body = parse(text);
  if (status >= 200 && status < 300) {
    if (body) return body;
    throw new StripeError('unavailable', 'Stripe answered what is no JSON.');
  }
  const error = (body && objectIn(body, 'error')) ?? {};
  const said = textIn(error, 'message') ?? `Stripe answered with the status ${status}.`;
  throw new StripeError(isTemporary(status, error) ? 'unavailable' : 'refused', hidden(said), error);
}

/** 409: another request with the same key is running, or the object is locked. */
function isTemporary(status: number, error: Json): boolean {
  if (status === 409 || status === 429 || status >= 500 || status < 400) return true;
  return textIn(error, 'code') === 'lock_timeout' || textIn(error, 'type') === 'idempotency_error';
}

/** Stripe repeats a part of a wrong key in its message. */
function hidden(message: string): string {
  return message.replace(/\b(sk|rk)_\w+/g, '$1_…').slice(0, MESSAGE_LENGTH_MAX);
}

function pairsOf(form: Form, prefix = ''): [string, string][] {
  return Object.entries(form).flatMap(([name, value]): [string, string][] => {
    const key = prefix === '' ? name : `${prefix}[${name}]`;
    if (value === undefined) return [];
    if (typeof value !== 'object') return [[key, String(value)]];
    return isList(value) ? value.flatMap((item, index) => pairsOf(item, `${key}[${index}]`)) : pairsOf(value, key);
  });
}

function isList(value: Form | readonly Form[]): value is readonly Form[] {
  return Array.isArray(value);
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJson(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textIn(object: Json, name: string): string | undefined {
  const value = object[name];
  return typeof value === 'string' ? value : undefined;
}

/** Undefined also when it is only an id, which was not expanded. */
export function objectIn(object: Json, name: string): Json | undefined {
  const value = object[name];
  return isJson(value) ? value : undefined;
}

/** A whole number; undefined: it is none. */
export function wholeIn(object: Json, name: string): bigint | undefined {
  const value = object[name];
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined;
}

/** The objects of a list. */
export function listIn(object: Json, name: string): readonly Json[] {
  const value = object[name];
  return Array.isArray(value) ? value.filter(isJson) : [];
}
