/** The page of an open invoice: opened from a link without a token, it shows what is due and takes the report of a payment. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { checkoutUrl } from '../../src/domain/billing/invoices/checkout-link.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({}, { offlinePaymentInstructions: 'Bank of Bath\nIBAN <DE00>' });
const planUid = String(
  field(
    await app.rest('/plans', {
      method: 'POST',
      body: { name: 'Pro & more', price: '19.90', currency_code: 'EUR', frequency_amount: 1, frequency_unit: 'month' },
    }),
    'plan_uid',
  ),
);

/** A customer whose first invoice waits. */
async function dueCustomer() {
  const tenant = await app.newTenant({ hasPlan: false });
  const [row] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`UPDATE customer SET name = 'Ann <b>Smith</b>' WHERE id = ${tenant.customerId} RETURNING uid`,
  );
  const change = await app.rest(`/customers/${row?.uid}/change-plan/${planUid}`, { method: 'POST', body: {} });
  return { ...tenant, invoice: String(field(change, 'invoice_uid')), url: String(field(change, 'checkout_url')) };
}

async function open(url: string, form?: Record<string, string>) {
  const answer = await fetch(url, form ? { method: 'POST', body: new URLSearchParams(form) } : {});
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

async function paymentsOf(invoice: string) {
  const [row] = await queryRows<{ payments: string[] | null }>(
    app.ctx.db,
    sql`SELECT array_agg(p.status || ' ' || p.note ORDER BY p.id) AS payments
          FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id WHERE i.uid = ${invoice}`,
  );
  return row?.payments ?? [];
}

const decide = async (invoice: string, decision: 'approve' | 'reject', body = {}) => {
  const [row] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`SELECT p.uid FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
         WHERE i.uid = ${invoice} ORDER BY p.id DESC LIMIT 1`,
  );
  return app.rest(`/payments/${row?.uid}/${decision}`, { method: 'POST', body });
};

test('shows customer, plan, lines, amount and how to pay to whoever has the link, and nothing is cached or indexed', async () => {
  const { url, invoice, token } = await dueCustomer();
  expect(url).toMatch(new RegExp(`^${app.baseUrl}/checkout/offline/`));
  const page = await open(url);
  expect(page.status).toBe(200);
  for (const words of [
    'Ann &lt;b&gt;Smith&lt;/b&gt;',
    'plan Pro &amp; more',
    '19.90 EUR',
    'Bank of Bath\n<br>IBAN &lt;DE00&gt;',
    `Please name the invoice: ${invoice}`,
    '<button type="submit">I have paid</button>',
  ])
    expect(page.text).toContain(words);
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(page.headers.get('x-robots-tag')).toBe('noindex, nofollow');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  // Reading claims nothing, whoever looks; and the same link stands on the invoice, in GraphQL too.
  expect(await paymentsOf(invoice)).toEqual([]);
  expect(field(await app.rest(`/invoices/${invoice}`, { token }), 'invoice', 'checkout_url')).toBe(url);
  const graphql = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query: 'query ($uid: String!) { invoice(uid: $uid) { ... on Invoice { checkoutUrl } } }',
      variables: { uid: invoice },
    }),
  });
  expect(await graphql.json()).toMatchObject({ data: { invoice: { checkoutUrl: url } } });
});

test('the button claims the payment once; a rejected one is claimed again; an approved one is paid', async () => {
  const { url, invoice, customerId } = await dueCustomer();
  const claimed = await open(url, { note: 'From my other account' });
  expect(claimed.status).toBe(200);
  expect(claimed.text).toContain('Thank you: your payment is being checked');
  expect(claimed.text).not.toContain('<form');
  await open(url, { note: 'Again' });
  expect(await paymentsOf(invoice)).toEqual(['AWAITING_ADMIN_APPROVAL From my other account']);

  expect((await decide(invoice, 'reject', { reason: 'Nothing came' })).status).toBe(200);
  const rejected = await open(url);
  expect(rejected.text).toMatch(/Your payment was not found[\s\S]*The operator says: Nothing came[\s\S]*I have paid/);
  await open(url, { note: 'Now' });
  expect(await paymentsOf(invoice)).toEqual(['FAILED From my other account', 'AWAITING_ADMIN_APPROVAL Now']);

  expect((await decide(invoice, 'approve')).status).toBe(200);
  const paid = await open(url, { note: 'Once more' });
  expect(paid.text).toContain('This invoice is paid');
  expect(await paymentsOf(invoice)).toHaveLength(2);
  const history = await queryRows<{ event: string }>(
    app.ctx.db,
    sql`SELECT event FROM subscription_event WHERE customer_id = ${customerId} ORDER BY id`,
  );
  expect(history.map(({ event }) => event)).toEqual([
    'created',
    'payment_claimed',
    'payment_rejected',
    'payment_claimed',
    'started',
  ]);
});

test('a note that is too long is refused with the reason, and a form that is too large as such', async () => {
  const { url, invoice } = await dueCustomer();
  const long = await open(url, { note: 'x'.repeat(1_001) });
  expect(long.status).toBe(422);
  expect(long.text).toContain('role="alert"');
  expect((await open(url, { note: 'x'.repeat(20_000) })).status).toBe(413);
  expect(await paymentsOf(invoice)).toEqual([]);
});

test('a link that was changed, that has expired, or that is of another invoice shows and claims nothing', async () => {
  const { url, invoice } = await dueCustomer();
  const other = await dueCustomer();
  const tag = (address: string) => address.slice(address.lastIndexOf('.'));
  const forged = [
    // Of the last letter only two bits count: another one with the same two bits is no other spelling.
    ...['A', 'B', 'Q', 'R', 'g', 'h', 'w', 'x']
      .filter((end) => !url.endsWith(end))
      .map((end) => url.slice(0, -1) + end),
    url.replace(tag(url), tag(other.url)),
    url.replace(invoice, other.invoice),
    url.replace(/\.[0-9a-z]+\.(?=[\w-]+$)/, '.zzzzzz.'),
    `${app.baseUrl}/checkout/offline/${invoice}`,
    checkoutUrl({ ...app.ctx.installation, secret: 'another secret' }, invoice, new Date()),
  ];
  for (const link of forged) expect((await open(link, { note: 'x' })).status, link).toBe(404);
  const old = checkoutUrl(app.ctx.installation, invoice, new Date(Date.now() - 16 * 24 * 60 * 60 * 1_000));
  const expired = await open(old, { note: 'x' });
  expect([expired.status, expired.text]).toEqual([410, expect.stringContaining('This link has expired')]);
  expect(expired.text).not.toContain('19.90');
  expect([...(await paymentsOf(invoice)), ...(await paymentsOf(other.invoice))]).toEqual([]);
});

test('an invoice that was withdrawn, and one of a disabled customer, cannot be reported as paid', async () => {
  const withdrawn = await dueCustomer();
  await app.ctx.db.execute(sql`UPDATE invoice SET status = 'void', voided_at = now() WHERE uid = ${withdrawn.invoice}`);
  expect((await open(withdrawn.url, { note: 'x' })).text).toContain('This invoice was withdrawn');
  const disabled = await dueCustomer();
  await app.ctx.db.execute(sql`UPDATE customer SET status = 'disabled' WHERE id = ${disabled.customerId}`);
  expect((await open(disabled.url, { note: 'x' })).text).toContain('This account is disabled');
  expect([...(await paymentsOf(withdrawn.invoice)), ...(await paymentsOf(disabled.invoice))]).toEqual([]);
});
