/** Amounts of money and currencies in GraphQL: never a Float. */
import { CURRENCIES, storedCurrency, type Currency as CurrencyRow } from '../../domain/billing/currencies.ts';
import { formatAmount, type Money as MoneyValue } from '../../domain/billing/money.ts';
import { builder } from '../builder.ts';

export const Money = builder.objectRef<MoneyValue>('Money').implement({
  description: 'An amount of money.',
  authScopes: { authenticated: true },
  fields: (t) => ({
    amount: t.string({
      description: "As a decimal with the currency's own digits: `9.99` EUR, `999` JPY.",
      resolve: ({ minor, currencyCode }) => formatAmount(minor, storedCurrency(currencyCode)),
    }),
    minor: t.expose('minor', { type: 'BigInt', description: 'In minor units: 999 for 9.99 EUR.' }),
    currencyCode: t.exposeString('currencyCode', { description: 'ISO 4217.' }),
  }),
});

const Currency = builder.objectRef<CurrencyRow>('Currency').implement({
  authScopes: { authenticated: true },
  fields: (t) => ({
    id: t.exposeInt('id', { description: 'The number that `currencyId` takes.' }),
    code: t.exposeString('code', { description: 'ISO 4217.' }),
    name: t.exposeString('name'),
    exponent: t.exposeInt('exponent', { description: 'Digits behind the decimal point.' }),
  }),
});

builder.queryField('currencies', (t) =>
  t.field({
    type: [Currency],
    description: 'All currencies, in the order of their codes.',
    authScopes: { authenticated: true },
    resolve: () => [...CURRENCIES],
  }),
);
