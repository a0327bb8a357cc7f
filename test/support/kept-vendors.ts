/** What payers, and the time, do to subscriptions that the doubles of Stripe and PayPal keep: the same acts at both. */
import type { PayPalVendor } from './paypal-vendor.ts';
import { objectOf } from './stripe-forms.ts';
import type { StripeDouble } from './stripe-double.ts';
import type { VendorName } from './paying-world.ts';

interface KeptVendor {
  /** A plan of 19.90 EUR a month. */
  addPlan(id: string): void;
  /** The path of the request that begins one. */
  readonly beginPath: string;
  /** The payer agrees at the page to which the browser was sent, and the vendor says that this was two months ago. Answers the vendor's id. */
  agree(location: string): string;
  /** The first money comes some hours after the payer has agreed. */
  readonly isPaidLater: boolean;
  payFirst(id: string): void;
  /** Money for the present period, which was not paid. */
  pay(id: string): void;
  renew(id: string, isPaid: boolean): void;
  /** The payer ends it at the vendor's own page. */
  end(id: string): void;
  isEnded(id: string): boolean;
  /** Checkouts of one: a payer who is sent there twice agrees once. */
  readonly begun: number;
  /** Single payments, which must not be made beside it. */
  readonly singles: number;
}

const PERIOD_SECONDS = 30 * 86_400;

/** The 28th at most, so that months later it is the same day. */
function monthsAgo(count: number): Date {
  const now = new Date(Date.now() - 60_000);
  const day = Math.min(now.getUTCDate(), 28);
  return new Date(
    Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, day, now.getUTCHours(), now.getUTCMinutes()),
  );
}

export function keptVendors(stripe: StripeDouble, paypal: PayPalVendor): Readonly<Record<VendorName, KeptVendor>> {
  const atPayPal = (id: string) => objectOf(paypal.kept.list.find((one) => one['id'] === id));
  const atStripe = (id: string) => stripe.subscriptions.find((one) => one['id'] === id) ?? {};
  return {
    paypal: {
      addPlan(id) {
        const price = { fixed_price: { currency_code: 'EUR', value: '19.90' } };
        const frequency = { interval_unit: 'MONTH', interval_count: 1 };
        const cycle = { tenure_type: 'REGULAR', sequence: 1, frequency, pricing_scheme: price };
        paypal.plans.push({ id, name: 'Pro at PayPal', status: 'ACTIVE', billing_cycles: [cycle] });
      },
      beginPath: '/v1/billing/subscriptions',
      agree(location) {
        const id = location.split('=').at(-1) ?? '';
        paypal.kept.approve(id, monthsAgo(2), false);
        return id;
      },
      isPaidLater: true,
      payFirst: (id) => paypal.kept.pay(id, monthsAgo(2)),
      pay: (id) => paypal.kept.pay(id, new Date(Date.now() - 1_000)),
      renew: (id, isPaid) => paypal.kept.renew(id, isPaid),
      end: (id) => paypal.kept.end(id),
      isEnded: (id) => atPayPal(id)['status'] === 'CANCELLED',
      get begun() {
        return paypal.kept.list.length;
      },
      get singles() {
        return paypal.orders.size;
      },
    },
    stripe: {
      addPlan(id) {
        const recurring = { interval: 'month', interval_count: 1 };
        stripe.prices.push({ id, unit_amount: 1990, currency: 'eur', nickname: 'Pro at Stripe', recurring });
      },
      beginPath: '/checkout/sessions',
      agree(location) {
        const session = location.split('/').at(-1) ?? '';
        stripe.pay(session);
        const id = String(stripe.sessions.get(session)?.['subscription']);
        // Its first period has ended a minute and a month ago.
        const end = Math.floor(Date.now() / 1_000) - PERIOD_SECONDS - 60;
        const items = objectOf(objectOf(atStripe(id)['items'])['data']);
        const data = Object.values(items).map((item) => ({ ...objectOf(item), current_period_end: end }));
        Object.assign(atStripe(id), { items: { data }, start_date: end - PERIOD_SECONDS });
        Object.assign(stripe.invoices[0] ?? {}, { lines: { data: [{ period: { end } }] } });
        return id;
      },
      isPaidLater: false,
      payFirst: () => undefined,
      pay(id) {
        const paid = { status: 'paid', amount_paid: 1990 };
        const invoice = { ...objectOf(atStripe(id)['latest_invoice']), ...paid };
        Object.assign(atStripe(id), { status: 'active', latest_invoice: invoice });
        const at = stripe.invoices.findIndex((one) => one['id'] === objectOf(invoice)['id']);
        stripe.invoices[at] = invoice;
      },
      renew: (id, isPaid) => stripe.renew(id, isPaid),
      end: (id) => void Object.assign(atStripe(id), { status: 'canceled' }),
      isEnded: (id) => atStripe(id)['status'] === 'canceled',
      get begun() {
        return stripe.sessions.size;
      },
      get singles() {
        return stripe.payments.size;
      },
    },
  };
}
