/**
 * How a driver knows that a webhook comes from its vendor when the vendor signs nothing: the address that was entered there has 128 secret
 * bits, and Basic credentials may be required besides. Whoever sees the address can report in the vendor's name.
 */
import { randomBytes } from 'node:crypto';
import { sameBytes, sha256 } from '../lib/crypto.ts';
import type { WebhookRequest } from './webhook.ts';

/** For `configKeys` and `secretKeys` of a driver. */
export const WEBHOOK_KEYS = ['webhook_key', 'webhook_username', 'webhook_password'] as const;

const KEY_BYTES = 16;
const KEY = /^[0-9a-f]{32}$/;

/** A new value of the setting `webhook_key`, for `validate` where none was given. */
export function newWebhookKey(): string {
  return randomBytes(KEY_BYTES).toString('hex');
}

export function isWebhookKey(value: unknown): value is string {
  return typeof value === 'string' && KEY.test(value);
}

type Settings = Readonly<Record<string, string | number | boolean>>;

/** The address to enter at the vendor: that of the server, with the key. */
export function webhookAddress(url: string, { webhook_key: key }: Settings): string {
  return isWebhookKey(key) ? `${url}?key=${key}` : url;
}

/** Whether the request has the key of the settings, and the Basic credentials where the settings have a password. */
export function knowsWebhookAddress({ query, headers }: WebhookRequest, settings: Settings): boolean {
  const { webhook_key: key, webhook_username: username = '', webhook_password: password = '' } = settings;
  if (!isWebhookKey(key) || !sameText(query['key'] ?? '', key)) return false;
  if (password === '') return true;
  const credentials = Buffer.from(`${username}:${password}`).toString('base64');
  return sameText(headers['authorization'] ?? '', `Basic ${credentials}`);
}

/** Takes the same time for any two texts of these lengths. */
export function sameText(a: string, b: string): boolean {
  return sameBytes(sha256(a), sha256(b));
}
