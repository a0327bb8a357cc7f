/** Money that had become credit was paid back at its vendor: it is no credit any more, as far as the customer has not used it. */
import type { BillingWork } from '../billing-work.ts';
import { changeCredit, readCredit } from '../invoices/credit-store.ts';
import type { Invoice } from '../invoices/invoice-store.ts';
import { readableMoney } from '../money.ts';
import type { Payment } from './payment-intent.ts';
import { writeCredited } from './payment-store.ts';

/** Takes back what is left of it. Returns a sentence about that for the history; null: the payment had not become credit. */
export async function takeBackCredit(
  { ctx: { db }, at }: BillingWork,
  payment: Payment,
  { refund, invoice }: { readonly refund: bigint; readonly invoice: Pick<Invoice, 'uid'> },
): Promise<string | null> {
  const { customerId, currencyCode, creditedMinor } = payment;
  const owed = least(refund, creditedMinor);
  if (owed === 0n) return null;
  const taken = least(owed, await readCredit(db, customerId, currencyCode));
  const money = { minor: -taken, currencyCode };
  await changeCredit(db, { customerId, money, invoiceUid: invoice.uid, at });
  await writeCredited(db, payment, creditedMinor - taken);
  const words = (minor: bigint) => readableMoney({ minor, currencyCode });
  const used = taken === owed ? '' : ` ${words(owed - taken)} of it had been used before.`;
  return `The payment had become credit: ${words(taken)} of credit was taken back.${used}`;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
