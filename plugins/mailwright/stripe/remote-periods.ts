/** What was paid for the periods of a subscription that Stripe keeps: they stand on its invoices. */
import type { RemotePeriod, RemotePeriodPage } from '../../../src/plugin-api/index.ts';
import { toIsoCurrency } from './amounts.ts';
import { listIn, objectIn, pageAfter, textIn, wholeIn, type Json, type StripeApi } from './stripe-api.ts';

/** Of invoices that begin a period. */
const PERIOD_REASONS = new Set(['subscription_create', 'subscription_cycle']);

/** Each period has an invoice, the newest first. Those of changes within a period, and by hand, are none of periods. */
export async function periodsOf(api: StripeApi, id: string, cursor: string | null): Promise<RemotePeriodPage> {
  const page = await api.get('/invoices', { subscription: id, ...pageAfter(cursor) });
  const invoices = listIn(page, 'data');
  const next = page['has_more'] === true ? (textIn(invoices.at(-1) ?? {}, 'id') ?? null) : null;
  return { data: invoices.flatMap(periodOf), has_more: next !== null, next_cursor: next };
}

function periodOf(invoice: Json): RemotePeriod[] {
  if (!PERIOD_REASONS.has(textIn(invoice, 'billing_reason') ?? '')) return [];
  // The invoice's own `period_end` is that of use before it; what it pays stands on its lines.
  const ends = listIn(objectIn(invoice, 'lines') ?? {}, 'data').flatMap(
    (line) => wholeIn(objectIn(line, 'period') ?? {}, 'end') ?? [],
  );
  const [amountMinor, currency] = [wholeIn(invoice, 'amount_paid'), textIn(invoice, 'currency')];
  if (ends.length === 0 || amountMinor === undefined || currency === undefined) return [];
  const isPaid = textIn(invoice, 'status') === 'paid';
  return [
    {
      endsAt: new Date(Math.max(...ends.map(Number)) * 1_000),
      payment: isPaid ? { amountMinor, currencyCode: toIsoCurrency(currency) } : null,
    },
  ];
}
