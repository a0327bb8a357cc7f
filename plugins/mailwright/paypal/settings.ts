/** The settings of the gateway. */
import type { GatewayCheck, GatewayData } from '../../../src/plugin-api/index.ts';

export const CONFIG_KEYS = ['mode', 'client_id', 'client_secret', 'save_accounts'] as const;
export const SECRET_KEYS = ['client_secret'] as const;

/** PayPal's are 80 characters today. */
const CREDENTIAL = /^[\w-]{20,200}$/;
const WHERE = 'You find it in the PayPal developer dashboard under Apps & Credentials.';

export type PayPalMode = 'live' | 'sandbox';

export interface PayPalSettings {
  readonly mode: PayPalMode;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether the payer's PayPal account is saved for renewals. */
  readonly savesAccounts: boolean;
}

export function validateSettings(given: Readonly<Record<string, unknown>>): GatewayCheck {
  const { mode = 'live', client_id: id, client_secret: secret, save_accounts: saves = false } = given;
  const errors: Record<string, string[]> = {};
  if (!isMode(mode)) errors['mode'] = ['This must be "live" or "sandbox".'];
  if (!isCredential(id)) errors['client_id'] = [`The client ID has 20 to 200 letters, digits, - and _. ${WHERE}`];
  if (!isCredential(secret)) errors['client_secret'] = [`The secret has 20 to 200 letters, digits, - and _. ${WHERE}`];
  if (typeof saves !== 'boolean') errors['save_accounts'] = ['This must be true or false.'];
  if (!isMode(mode) || !isCredential(id) || !isCredential(secret) || typeof saves !== 'boolean')
    return { ok: false, errors };
  return { ok: true, data: { mode, client_id: id.trim(), client_secret: secret.trim(), save_accounts: saves } };
}

export function settingsOf(data: GatewayData): PayPalSettings {
  return {
    mode: data['mode'] === 'sandbox' ? 'sandbox' : 'live',
    clientId: String(data['client_id']),
    clientSecret: String(data['client_secret']),
    savesAccounts: data['save_accounts'] === true,
  };
}

function isMode(value: unknown): value is PayPalMode {
  return value === 'live' || value === 'sandbox';
}

function isCredential(value: unknown): value is string {
  return typeof value === 'string' && CREDENTIAL.test(value.trim());
}
