/** The settings of the gateway. */
import type { GatewayCheck, GatewayData } from '../../../src/plugin-api/index.ts';

export const CONFIG_KEYS = ['secret_key', 'save_cards'] as const;
export const SECRET_KEYS = ['secret_key'] as const;

/** `sk_live_…`, `sk_test_…`, or a restricted key `rk_…`; a publishable key cannot charge. */
const SECRET_KEY = /^(sk|rk)_(live|test)_[A-Za-z0-9_]{10,300}$/;

export interface StripeSettings {
  readonly secretKey: string;
  /** Whether the card of a payment is saved for renewals. */
  readonly savesCards: boolean;
}

export function validateSettings(given: Readonly<Record<string, unknown>>): GatewayCheck {
  const { secret_key: key, save_cards: saves = true } = given;
  const errors: Record<string, string[]> = {};
  if (typeof key !== 'string' || !SECRET_KEY.test(key.trim()))
    errors['secret_key'] = [
      'The secret key begins with sk_live_, sk_test_, rk_live_ or rk_test_. You find it in the Stripe dashboard under Developers, API keys.',
    ];
  if (typeof saves !== 'boolean') errors['save_cards'] = ['This must be true or false.'];
  if (typeof key !== 'string' || typeof saves !== 'boolean' || Object.keys(errors).length > 0)
    return { ok: false, errors };
  return { ok: true, data: { secret_key: key.trim(), save_cards: saves } };
}

export function settingsOf(data: GatewayData): StripeSettings {
  return { secretKey: String(data['secret_key']), savesCards: data['save_cards'] !== false };
}
