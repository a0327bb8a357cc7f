/** Arithmetic of money and time: exact, and nothing is made or lost. */
import { fc } from '../../support/property.ts';
import { describe, expect, test } from 'vitest';
import { CURRENCIES, currencyByCode, currencyById, storedCurrency } from '../../../src/domain/billing/currencies.ts';
import { formatAmount, parseAmount } from '../../../src/domain/billing/money.ts';
import { FREQUENCY_MAX, frequencyUnits, periodEnd } from '../../../src/domain/billing/subscriptions/period.ts';
import { billFor, unusedPart } from '../../../src/domain/billing/subscriptions/proration.ts';

const euro = storedCurrency('EUR');
const yen = storedCurrency('JPY');
const dinar = storedCurrency('KWD');
const RUNS = { numRuns: 1_000 };

const minor = fc.bigInt({ min: 0n, max: 10n ** 14n });
const moment = fc.date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });

describe('currencies', () => {
  test('are numbered from 1 in the order of their codes', () => {
    expect(CURRENCIES.map(({ id }) => id)).toEqual(CURRENCIES.map((_, index) => index + 1));
    expect(CURRENCIES.map(({ code }) => code)).toEqual(CURRENCIES.map(({ code }) => code).toSorted());
    expect(CURRENCIES.length).toBeGreaterThan(150);
  });

  test('keep the numbers and exponents that clients have seen', () => {
    const pinned = ['AED', 'EUR', 'JPY', 'KWD', 'USD', 'ZWG'].map((code) => {
      const { id, exponent } = storedCurrency(code);
      return `${code} ${id} ${exponent}`;
    });
    expect(pinned).toEqual(['AED 1 2', 'EUR 49 2', 'JPY 72 0', 'KWD 79 3', 'USD 148 2', 'ZWG 166 2']);
    expect(currencyById(storedCurrency('USD').id)?.code).toBe('USD');
    expect([currencyById(0), currencyById(-1), currencyById(10_000), currencyByCode('XXX')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(currencyByCode(' eur ')?.code).toBe('EUR');
  });
});

describe('amounts', () => {
  test.each([
    ['9.99', euro, 999n],
    ['0', euro, 0n],
    ['0.00', euro, 0n],
    [' 10 ', euro, 1000n],
    ['9.990', euro, 999n],
    ['007.5', euro, 750n],
    ['10', yen, 10n],
    ['10.00', yen, 10n],
    ['1.234', dinar, 1234n],
    ['999999999999.99', euro, 99999999999999n],
    ['0.1', euro, 10n],
  ])('%s is taken', (text, currency, amount) => {
    expect(parseAmount(text, currency)).toBe(amount);
  });

  test.each([
    ['9.999', euro],
    ['10.5', yen],
    ['1.2345', dinar],
    ['-1', euro],
    ['+1', euro],
    ['1e3', euro],
    ['1e+21', euro],
    ['9,99', euro],
    ['1 000', euro],
    ['.5', euro],
    ['5.', euro],
    ['', euro],
    ['NaN', euro],
    ['Infinity', euro],
    ['0x10', euro],
    ['٣', euro],
    ['1000000000000', euro],
    ['0.00000000000', euro],
  ])('%s is refused', (text, currency) => {
    expect(parseAmount(text, currency)).toBeTypeOf('string');
  });

  test('are read back as they were written, in every currency', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n - 1n }), fc.constantFrom(...CURRENCIES), (amount, currency) => {
        expect(parseAmount(formatAmount(amount, currency), currency)).toBe(amount);
      }),
      RUNS,
    );
    expect([formatAmount(-5n, euro), formatAmount(0n, euro), formatAmount(7n, yen), formatAmount(5n, dinar)]).toEqual([
      '-0.05',
      '0.00',
      '7',
      '0.005',
    ]);
  });
});

describe('periods', () => {
  test('come back to the last day of the month', () => {
    const anchor = new Date('2026-01-31T10:20:30.000Z');
    const ends = [1, 2, 3, 4, 13].map((no) => periodEnd(anchor, { amount: 1, unit: 'month' }, no).toISOString());
    expect(ends).toEqual([
      '2026-02-28T10:20:30.000Z',
      '2026-03-31T10:20:30.000Z',
      '2026-04-30T10:20:30.000Z',
      '2026-05-31T10:20:30.000Z',
      '2027-02-28T10:20:30.000Z',
    ]);
  });

  test('know leap years', () => {
    const anchor = new Date('2024-02-29T00:00:00.000Z');
    const ends = [1, 4].map((no) => periodEnd(anchor, { amount: 1, unit: 'year' }, no).toISOString().slice(0, 10));
    expect(ends).toEqual(['2025-02-28', '2028-02-29']);
  });

  test('grow with their number, never skip a month, and keep the day where the month has it', () => {
    const frequency = fc
      .constantFrom(...frequencyUnits)
      .chain((unit) =>
        fc.record({ unit: fc.constant(unit), amount: fc.integer({ min: 1, max: FREQUENCY_MAX[unit] }) }),
      );
    fc.assert(
      fc.property(moment, frequency, fc.integer({ min: 0, max: 50 }), (anchor, length, no) => {
        const [before, after] = [periodEnd(anchor, length, no), periodEnd(anchor, length, no + 1)];
        expect(after.getTime()).toBeGreaterThan(before.getTime());
        expect(after.getTime() % 86_400_000).toBe(anchor.getTime() % 86_400_000);
        if (length.unit === 'day' || length.unit === 'week') return;
        const months = (date: Date) => date.getUTCFullYear() * 12 + date.getUTCMonth();
        expect(months(after) - months(before)).toBe(length.amount * (length.unit === 'year' ? 12 : 1));
        const lastDay = new Date(Date.UTC(after.getUTCFullYear(), after.getUTCMonth() + 1, 0)).getUTCDate();
        expect(after.getUTCDate()).toBe(Math.min(anchor.getUTCDate(), lastDay));
      }),
      RUNS,
    );
  });
});

describe('proration', () => {
  const period = fc.record({ startsAt: moment, length: fc.integer({ min: 1_000, max: 10 ** 11 }), paid: minor });

  test('gives back everything at the start, nothing at the end, and never more later than earlier', () => {
    fc.assert(
      fc.property(period, fc.nat(), fc.nat(), ({ startsAt, length, paid }, a, b) => {
        const endsAt = new Date(startsAt.getTime() + length);
        const given = { paid: { minor: paid, currencyCode: 'EUR' }, startsAt, endsAt };
        const at = (offset: number) => new Date(startsAt.getTime() + (offset % (length + 1)));
        const [early, late] = [a % (length + 1), b % (length + 1)].toSorted((one, other) => one - other);
        const [more, less] = [unusedPart(given, at(early ?? 0)), unusedPart(given, at(late ?? 0))];
        expect(more >= less && less >= 0n && more <= paid).toBe(true);
        expect(unusedPart(given, startsAt)).toBe(paid);
        expect(unusedPart(given, new Date(startsAt.getTime() - 5_000))).toBe(paid);
        expect(unusedPart(given, endsAt)).toBe(0n);
      }),
      RUNS,
    );
  });

  test('half of the time is half of the money, rounded down', () => {
    const given = { startsAt: new Date('2026-01-01'), endsAt: new Date('2026-01-31') };
    const middle = new Date('2026-01-16');
    expect(unusedPart({ ...given, paid: { minor: 1001n, currencyCode: 'EUR' } }, middle)).toBe(500n);
  });

  test('bills add up, are never negative, and make no money', () => {
    const bills = fc.record({ price: minor, unused: fc.option(minor), balance: minor, same: fc.boolean() });
    fc.assert(
      fc.property(bills, ({ price, unused, balance, same }) => {
        const before = unused === null ? null : { minor: unused, currencyCode: same ? 'EUR' : 'USD' };
        const bill = billFor({ minor: price, currencyCode: 'EUR' }, before, balance);
        expect(bill.lines.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)).toBe(bill.totalMinor);
        expect(bill.totalMinor >= 0n).toBe(true);
        expect(bill.creditUsedMinor >= 0n && bill.creditUsedMinor <= balance).toBe(true);
        const kept = bill.creditKept?.minor ?? 0n;
        // What goes in (money, credit, what was left) is what comes out (the price, what is kept).
        expect(bill.totalMinor + bill.creditUsedMinor + (unused ?? 0n)).toBe(price + kept);
        if (kept > 0n && same) expect(bill.totalMinor).toBe(0n);
        expect(bill.creditKept?.currencyCode ?? before?.currencyCode).toBe(before?.currencyCode);
      }),
      RUNS,
    );
  });
});
