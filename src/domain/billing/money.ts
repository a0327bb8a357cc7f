/** Amounts of money: whole minor units of a currency, written as exact decimals. No floating point anywhere. */
import { storedCurrency, type Currency } from './currencies.ts';

export interface Money {
  readonly minor: bigint;
  readonly currencyCode: string;
}

// A trillion of the cheapest currency is no price; products stay within 64 bits.
const WHOLE_DIGITS_MAX = 12;
// Zeros that a client's number format adds.
const FRACTION_DIGITS_MAX = 10;
const DECIMAL = /^(\d+)(?:\.(\d+))?$/;

/** The amount in a text, or why it is none: `9.999` is no amount of EUR, `10.5` none of JPY. */
export function parseAmount(text: string, { exponent, code }: Currency): bigint | string {
  const [, whole = '', fraction = ''] = DECIMAL.exec(text.trim()) ?? [];
  if (whole === '' || fraction.length > FRACTION_DIGITS_MAX)
    return 'must be a decimal number that is not negative, such as 9.99';
  if (whole.replace(/^0+/, '').length > WHOLE_DIGITS_MAX)
    return `may not have more than ${WHOLE_DIGITS_MAX} digits before the point`;
  // 9.990 is 9.99; 9.999 does not exist in the currency.
  if (/[1-9]/.test(fraction.slice(exponent)))
    return `may not have more than ${exponent} digits after the point: ${code} has no smaller unit`;
  return BigInt(whole + fraction.slice(0, exponent).padEnd(exponent, '0'));
}

/** `999n` of EUR -> `9.99`, `999n` of JPY -> `999`. */
export function formatAmount(minor: bigint, { exponent }: Pick<Currency, 'exponent'>): string {
  const sign = minor < 0n ? '-' : '';
  const digits = (minor < 0n ? -minor : minor).toString().padStart(exponent + 1, '0');
  if (exponent === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/** `9.99 EUR`, for descriptions and notes. */
export function readableMoney({ minor, currencyCode }: Money): string {
  return `${formatAmount(minor, storedCurrency(currencyCode))} ${currencyCode}`;
}
