/**
 * The currencies of prices: ISO 4217, numbered from 1 in the order of their codes. Codes and exponents come from a maintained
 * package, pinned: a new version with another currency must keep the earlier numbers.
 */
import iso from 'currency-codes';

export interface Currency {
  readonly id: number;
  /** ISO 4217, three capitals. */
  readonly code: string;
  readonly name: string;
  /** Digits after the decimal point: 2 for EUR, 0 for JPY, 3 for KWD. */
  readonly exponent: number;
}

// ISO gives them no minor unit: metals, units of account between banks, codes for tests. Nobody pays with them.
const UNITS_OF_ACCOUNT = new Set('XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' '));

export const CURRENCIES: readonly Currency[] = [...iso.data]
  .filter(({ code }) => !UNITS_OF_ACCOUNT.has(code))
  .sort((a, b) => (a.code < b.code ? -1 : 1))
  .map(({ code, currency, digits }, index) => ({ id: index + 1, code, name: currency, exponent: digits }));

const byCode = new Map(CURRENCIES.map((currency) => [currency.code, currency]));

/** The currency with this code, in any case of letters. */
export function currencyByCode(code: string): Currency | undefined {
  return byCode.get(code.trim().toUpperCase());
}

/** The currency with this number in our table. */
export function currencyById(id: number): Currency | undefined {
  return CURRENCIES[id - 1];
}

/** The currency of a row: only known ones are stored. */
export function storedCurrency(code: string): Currency {
  const currency = byCode.get(code);
  if (!currency) throw new Error(`Currency ${code} is stored, but not in the table.`);
  return currency;
}
