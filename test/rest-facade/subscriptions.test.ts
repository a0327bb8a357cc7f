/** Subscriptions, plans of customers, invoices and payments over REST, with twins in GraphQL. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const UNLIMITED = { sending_server_option: 'own' };

async function newPlan(price: string): Promise<string> {
  const body = {
    name: `At ${price}`,
    price,
    currency_code: 'EUR',
    frequency_amount: 1,
    frequency_unit: 'month',
    options: UNLIMITED,
  };
  return ((await app.rest('/plans', { method: 'POST', body })).body as { plan_uid: string }).plan_uid;
}

const [free, small, large] = [await newPlan('0'), await newPlan('10.00'), await newPlan('30.00')];

async function newCustomer() {
  const { token, customerId } = await app.newTenant({ hasPlan: false });
  const [row] = await queryRows<{ uid: string }>(app.ctx.db, sql`SELECT uid FROM customer WHERE id = ${customerId}`);
  return { token, customerId, uid: row?.uid ?? '' };
}

type Body = Record<string, unknown> & { subscription: Record<string, unknown> };

async function post(path: string, body: Record<string, unknown> = {}, token = app.adminToken) {
  const answer = await app.rest(path, { method: 'POST', body, token });
  return { status: answer.status, body: answer.body as Body };
}

async function graphql(query: string, variables: Record<string, unknown>, token = app.adminToken) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as { data: Record<string, Record<string, unknown>>; errors?: unknown };
}

/** The customer's rows of money, without what is fresh in every one. */
function moneyOf(customerId: bigint) {
  return queryRows(
    app.ctx.db,
    sql`
    SELECT s.status, s.plan_id, s.disable_billing, s.options, s.paid_minor,
           (SELECT array_agg(e.event || ' ' || coalesce(e.amount_minor, -1) ORDER BY e.id) FROM subscription_event e
             WHERE e.customer_id = s.customer_id AND e.subscription_id = s.id) AS history,
           (SELECT array_agg(i.kind || ' ' || i.status || ' ' || i.total_minor ORDER BY i.id) FROM invoice i
             WHERE i.customer_id = s.customer_id AND i.subscription_id = s.id) AS invoices
      FROM subscription s WHERE s.customer_id = ${customerId} ORDER BY s.id`,
  );
}

describe('subscriptions', () => {
  test('to a plan that costs something wait with an invoice that says how to pay', async () => {
    const customer = await newCustomer();
    const { status, body } = await post('/subscriptions', { customer_uid: customer.uid, plan_uid: small });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: 1,
      message: 'Subscription was successfully created',
      subscription: { status: 'pending', customer_id: String(customer.customerId), current_period_ends_at: null },
      amount_due: '10.00',
      currency_code: 'EUR',
      checkout_url: expect.stringContaining(`${app.baseUrl}/checkout/offline/${String(body['invoice_uid'])}.`),
    });
    const path = `/invoices/${String(body['invoice_uid'])}`;
    expect((await app.rest(path, { token: customer.token })).body).toMatchObject({
      invoice: {
        status: 'pending',
        total: '10.00',
        lines: [{ kind: 'plan', amount: '10.00' }],
        payment_instructions: expect.stringMatching(/transfer/),
      },
    });
    const claim = await post(`${path}/claim`, { note: 'Yesterday.' }, customer.token);
    expect(claim).toMatchObject({
      status: 201,
      body: { payment: { status: 'AWAITING_ADMIN_APPROVAL', note: 'Yesterday.' } },
    });
    const payment = String(claim.body['payment_uid']);
    expect(JSON.stringify((await app.rest('/payments')).body)).toContain(payment);
    expect((await post(`/payments/${payment}/approve`, {}, customer.token)).status).toBe(403);
    expect(await post(`/payments/${payment}/approve`)).toMatchObject({
      status: 200,
      body: { payment: { status: 'SUCCEEDED' } },
    });
    expect((await app.rest(path, { token: customer.token })).body).toMatchObject({
      invoice: { status: 'paid', checkout_url: null, payments: [{ uid: payment }] },
    });
    expect((await app.rest(`/subscriptions/${String(body['subscription_uid'])}`)).body).toMatchObject({
      subscription: {
        status: 'active',
        current_period_ends_at: expect.stringMatching(/^\d{4}-/),
        renewal_history: [
          {
            event: 'created',
            amount: '10.00',
            currency_code: 'EUR',
            plan_uid: small,
            invoice_uid: body['invoice_uid'],
          },
          { event: 'payment_claimed', note: 'Yesterday.' },
          { event: 'started', amount: '10.00' },
        ],
      },
    });
  });

  test('run at once when nobody has to pay', async () => {
    for (const wish of [{ plan_uid: free }, { plan_uid: large, disable_billing: 'yes' }]) {
      const customer = await newCustomer();
      const { body } = await post('/subscriptions', { customer_uid: customer.uid, ...wish });
      expect(body).toMatchObject({
        invoice_uid: null,
        checkout_url: null,
        subscription: { status: 'active', ends_at: null },
      });
    }
  });

  test('are listed in pages or bare, of one plan or of all, in one number of statements', NOISE, async () => {
    const plan = await newPlan('5');
    for (let no = 0; no < 12; no++)
      await post('/subscriptions', { customer_uid: (await newCustomer()).uid, plan_uid: plan, disable_billing: 1 });
    const paged = (await app.rest(`/subscriptions?plan_uid=${plan}&per_page=5&page=2`)).body as {
      data: object[];
      meta: object;
    };
    expect(paged.meta).toMatchObject({ current_page: 2, per_page: 5, total: 12, last_page: 3 });
    expect(paged.data[0]).toMatchObject({
      id: expect.any(Number),
      uid: expect.any(String),
      customer_id: expect.stringMatching(/^\d+$/),
      plan_id: expect.stringMatching(/^\d+$/),
      status: 'active',
      ends_at: null,
    });
    const bare = await app.rest(`/subscriptions?plan_uid=${plan}&per_page=100`, {
      headers: { 'X-Api-Dialect': 'classic' },
    });
    expect(bare.body).toHaveLength(12);
    expect(bare.headers.get('x-total-count')).toBe('12');
    expect((await app.rest('/subscriptions?plan_uid=0000000000000')).status).toBe(404);
    expect((await app.rest(`/subscriptions?plan_uid=${plan}&page=99`)).body).toMatchObject({ data: [] });
    const [few, many] = [
      await countStatements(() => app.rest(`/subscriptions?plan_uid=${plan}&per_page=2`)),
      await countStatements(() => app.rest(`/subscriptions?plan_uid=${plan}&per_page=12`)),
    ];
    expect(many.statements.length).toBe(few.statements.length);
  });

  test('are set, cancelled, activated and terminated', async () => {
    const customer = await newCustomer();
    const { body } = await post('/subscriptions', { customer_uid: customer.uid, plan_uid: free });
    const path = `/subscriptions/${String(body['subscription_uid'])}`;
    const changed = await app.rest(path, {
      method: 'PATCH',
      body: {
        ends_at: '2045-01-01 00:00:00',
        current_period_ends_at: '2040-05-06 07:08:09',
        frequency_amount: '2',
        frequency_unit: 'week',
        'options[list_max]': '3',
      },
    });
    expect(changed.body).toMatchObject({
      status: 1,
      subscription: {
        ends_at: '2045-01-01 00:00:00',
        current_period_ends_at: '2040-05-06 07:08:09',
        frequency_amount: '2',
        frequency_unit: 'week',
        options: { list_max: '3' },
      },
    });
    expect((await app.rest(path, { method: 'PATCH', body: { ends_at: '' } })).body).toMatchObject({
      subscription: { ends_at: null },
    });
    expect(
      await app.rest(path, { method: 'PATCH', body: { ends_at: '2001-01-01 00:00:00', options: { no_such: 1 } } }),
    ).toMatchObject({
      status: 422,
      body: { errors: { ends_at: [expect.any(String)], 'options.no_such': [expect.any(String)] } },
    });
    expect((await post(`${path}/cancel`)).body).toMatchObject({
      message: 'Subscription was cancelled',
      subscription: { status: 'cancelled', ends_at: '2040-05-06 07:08:09' },
    });
    expect(await post(`${path}/cancel`)).toMatchObject({
      status: 422,
      body: { errors: { status: [expect.any(String)] } },
    });
    expect((await post(`${path}/activate`)).body.subscription).toMatchObject({ status: 'active', ends_at: null });
    expect((await post(`${path}/terminate`)).body.subscription).toMatchObject({ status: 'ended' });
    expect((await post(`${path}/activate`)).status).toBe(422);
  });

  test('are for administrators', async () => {
    const { token, uid } = await newCustomer();
    for (const path of [
      '/subscriptions',
      `/customers/${uid}/assign-plan/${free}`,
      `/customers/${uid}/change-plan/${free}`,
    ])
      expect((await post(path, { customer_uid: uid, plan_uid: free }, token)).status).toBe(403);
    expect((await app.rest('/subscriptions', { token })).status).toBe(403);
  });
});

describe('plans of customers', () => {
  test('are assigned without billing, as the clients expect to be told', async () => {
    const customer = await newCustomer();
    for (const plan of [small, large]) {
      const { status, body } = await post(`/customers/${customer.uid}/assign-plan/${plan}`, {
        disable_billing: true,
        gateway: 'x',
      });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: 1,
        message: 'Customer was assigned to plan',
        customer_uid: customer.uid,
        plan_uid: plan,
        subscription: { status: 'active', disable_billing: true },
      });
    }
    expect(await moneyOf(customer.customerId)).toMatchObject([
      { status: 'ended' },
      { status: 'active', invoices: null },
    ]);
    expect((await app.rest(`/customers/${customer.uid}`)).body).toMatchObject({
      customer: { current_period_ends_at: expect.stringMatching(/^\d{4}-/) },
    });
  });

  test('are changed at once when nothing is due, else when it is paid', async () => {
    const customer = await newCustomer();
    await post(`/customers/${customer.uid}/assign-plan/${large}`);
    expect((await post(`/customers/${customer.uid}/change-plan/${free}`)).body).toMatchObject({
      status: 1,
      message: 'Customer was changed to new plan',
      plan_uid: free,
      checkout_url: null,
      subscription: { plan_uid: free },
    });
    const { body } = await post(`/customers/${customer.uid}/change-plan/${small}`);
    expect(body).toMatchObject({
      message: expect.stringMatching(/^Customer was changed to new plan/),
      plan_uid: small,
      amount_due: '10.00',
      checkout_url: expect.stringContaining('/checkout/offline/'),
      subscription: { plan_uid: free, pending_invoice_uid: body['invoice_uid'] },
    });
    await post(`/invoices/${String(body['invoice_uid'])}/pay`);
    expect((await app.rest(`/subscriptions/${String(body['subscription_uid'])}`)).body).toMatchObject({
      subscription: { plan_uid: small, pending_invoice_uid: null, disable_billing: false },
    });
    expect((await post(`/customers/${customer.uid}/change-plan/${small}`)).status).toBe(422);
    expect((await post(`/customers/${customer.uid}/change-plan/0000000000000`)).status).toBe(404);
    expect((await post(`/customers/0000000000000/change-plan/${small}`)).status).toBe(404);
  });

  test('have parameters of their own', async () => {
    const customer = await newCustomer();
    const path = `/customers/${customer.uid}/subscription/update`;
    expect(await post(path, { ends_at: '2045-01-01 00:00:00' })).toMatchObject({
      status: 422,
      body: { errors: { status: [expect.any(String)] } },
    });
    await post(`/customers/${customer.uid}/assign-plan/${small}`);
    expect((await post(path, { ends_at: '2045-01-01 00:00:00' })).body).toMatchObject({
      status: 1,
      customer_uid: customer.uid,
      subscription: { ends_at: '2045-01-01 00:00:00' },
    });
  });
});

describe('GraphQL and REST leave the same rows', () => {
  test('for assigning', async () => {
    const [one, two] = [await newCustomer(), await newCustomer()];
    await post(`/customers/${one.uid}/assign-plan/${small}`);
    await graphql(
      `mutation ($input: AssignPlanInput!) { assignPlan(input: $input) { __typename ... on PlanSubscription { uid } } }`,
      { input: { customerUid: two.uid, planUid: small } },
    );
    expect(await moneyOf(two.customerId)).toEqual(await moneyOf(one.customerId));
  });

  test('for changing by an administrator and by the customer, and paying', async () => {
    const [one, two] = [await newCustomer(), await newCustomer()];
    const { body } = await post(`/customers/${one.uid}/change-plan/${small}`);
    await post(`/invoices/${String(body['invoice_uid'])}/pay`);
    const { data } = await graphql(
      `mutation ($input: ChangePlanInput!) { changePlan(input: $input) { ... on SubscriptionChange {
         checkoutUrl invoice { uid total { amount } lines { kind amount { minor } } } subscription { status plan { name } } } } }`,
      { input: { planUid: small } },
      two.token,
    );
    const invoice = data['changePlan']?.['invoice'] as { uid: string };
    expect(data['changePlan']).toMatchObject({ subscription: { status: 'pending', plan: { name: 'At 10.00' } } });
    await graphql(
      `mutation ($input: RecordPaymentInput!) { recordPayment(input: $input) { ... on PaymentIntent { status } } }`,
      { input: { invoiceUid: invoice.uid } },
    );
    expect(await moneyOf(two.customerId)).toEqual(await moneyOf(one.customerId));
    const mine = await graphql(
      `{ mySubscription { ... on PlanSubscription { status plan { uid } pendingInvoice { uid } history(first: 10) { nodes { event } } } }
         creditBalances { ... on CreditBalancesSuccess { nodes { amount } } } invoices(first: 5) { ... on InvoiceConnection { nodes { uid status total { minor currencyCode } } } } }`,
      {},
      two.token,
    );
    expect(mine.data).toMatchObject({
      mySubscription: {
        status: 'active',
        plan: { uid: small },
        pendingInvoice: null,
        history: { nodes: [{ event: 'started' }, { event: 'created' }] },
      },
      creditBalances: { nodes: [] },
      invoices: { nodes: [{ uid: invoice.uid, status: 'paid', total: { minor: '1000', currencyCode: 'EUR' } }] },
    });
  });
});

test("a customer reads and pays its own invoices, never another's", async () => {
  const [owner, other] = [await newCustomer(), await newCustomer()];
  const { body } = await post('/subscriptions', { customer_uid: owner.uid, plan_uid: small });
  const path = `/invoices/${String(body['invoice_uid'])}`;
  expect((await app.rest(path, { token: other.token })).status).toBe(403);
  expect((await post(`${path}/claim`, {}, other.token)).status).toBe(403);
  expect((await app.rest(`/invoices?customer_uid=${owner.uid}`, { token: other.token })).status).toBe(403);
  expect((await app.rest('/invoices', { token: other.token })).body).toMatchObject({ data: [] });
  expect((await app.rest(`/invoices?customer_uid=${owner.uid}`)).body).toMatchObject({ data: [{ status: 'pending' }] });
  const readOnly = await app.newTenant({ scopes: ['billing:read'] });
  const change = await graphql(
    `mutation { changePlan(input: {planUid: "${free}"}) { __typename } }`,
    {},
    readOnly.token,
  );
  expect(change.data['changePlan']).toMatchObject({ __typename: 'ForbiddenError' });
});
