/**
 * Amounts as PayPal writes them: decimal texts such as `19.90`. Whole numbers all the way, never floating point. PayPal takes no decimals in
 * HUF and TWD, which have two in ISO 4217 (developer.paypal.com/api/rest/reference/currency-codes).
 */
import { GatewayError, type PaymentIntent } from '../../../src/plugin-api/index.ts';

/** All that PayPal takes. BRL, CNY and MYR only for PayPal accounts in these countries: PayPal itself refuses others. */
export const CURRENCIES: readonly string[] =
  'AUD BRL CAD CNY CZK DKK EUR HKD HUF ILS JPY MYR MXN TWD NZD NOK PHP PLN GBP SGD SEK CHF THB USD'.split(' ');
const known = new Set(CURRENCIES);
/** No digits after the point at PayPal. */
const WHOLE_ONLY = new Set(['HUF', 'JPY', 'TWD']);
/** A value has at most 32 characters in PayPal's documents. */
const VALUE = /^(\d{1,20})(?:\.(\d{1,10}))?$/;

export interface Money {
  readonly currency_code: string;
  readonly value: string;
}

/** Throws GatewayError `refused` with a sentence for what PayPal does not take. */
export function toPayPalMoney({
  amountMinor,
  currencyCode,
  currencyDigits,
}: Pick<PaymentIntent, 'amountMinor' | 'currencyCode' | 'currencyDigits'>): Money {
  const digits = digitsOf(currencyCode);
  if (digits === undefined) throw new GatewayError('refused', `PayPal does not take ${currencyCode}.`);
  if (digits !== currencyDigits)
    throw new GatewayError('refused', `An amount in ${currencyCode} with ${currencyDigits} decimals is not expected.`);
  const unit = 10n ** BigInt(digits);
  const [whole, rest] = [amountMinor / unit, amountMinor % unit];
  if (!WHOLE_ONLY.has(currencyCode))
    return { currency_code: currencyCode, value: `${whole}.${rest.toString().padStart(digits, '0')}` };
  if (rest !== 0n)
    throw new GatewayError(
      'refused',
      `PayPal takes only whole amounts of ${currencyCode}. Choose another way to pay this invoice.`,
    );
  return { currency_code: currencyCode, value: whole.toString() };
}

/** Minor units of ISO 4217. Undefined: it is no amount in a currency that we know. */
export function toMinor(value: string, currencyCode: string): bigint | undefined {
  const digits = digitsOf(currencyCode);
  const [, whole, rest = ''] = VALUE.exec(value) ?? [];
  if (digits === undefined || whole === undefined) return undefined;
  const fraction = rest.padEnd(digits, '0');
  // More digits than the currency has must be zeros.
  if (BigInt(fraction.slice(digits)) !== 0n) return undefined;
  return BigInt(`${whole}${fraction.slice(0, digits)}`);
}

/** In ISO 4217. */
function digitsOf(currencyCode: string): number | undefined {
  if (!known.has(currencyCode)) return undefined;
  return currencyCode === 'JPY' ? 0 : 2;
}
