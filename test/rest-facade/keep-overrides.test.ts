/** What an administrator set on a subscription beside its plan: it ends with the plan, or stays where that is asked for. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();

interface Body extends Record<string, unknown> {
  readonly plan_uid: string;
}

async function post(path: string, body: object = {}) {
  const { status, body: answered } = await app.rest(path, { method: 'POST', body });
  return { status, body: answered as Body };
}

const period = { currency_code: 'EUR', frequency_amount: 1, frequency_unit: 'month' };
const newPlan = async (price: string) => (await post('/plans', { name: price, price, ...period })).body.plan_uid;
const [small, large] = [await newPlan('10.00'), await newPlan('30.00')];

async function newCustomer() {
  const { token, customerId } = await app.newTenant({ hasPlan: false });
  return { token, customerId, uid: String(field(await app.rest('/me', { token }), 'customer', 'uid')) };
}

async function graphql(query: string, variables: object, token = app.adminToken) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const sent = { method: 'POST', headers, body: JSON.stringify({ query, variables }) };
  return (await (await fetch(`${app.baseUrl}/graphql`, sent)).json()) as { data: Record<string, unknown> };
}

describe('what was set on a subscription beside its plan', () => {
  const OVERRIDES = { ends_at: '2040-01-02 00:00:00', options: { list_max: '77' } };
  const GRAPHQL = {
    change: `mutation ($input: ChangePlanInput!) { result: changePlan(input: $input) {
      ... on SubscriptionChange { invoice { uid } } ... on ValidationError { fields { field } } } }`,
    assign: `mutation ($input: AssignPlanInput!) { result: assignPlan(input: $input) { ... on PlanSubscription { uid } } }`,
  };

  /** On the small plan, with an end and an option of its own. */
  async function special() {
    const customer = await newCustomer();
    await post(`/customers/${customer.uid}/assign-plan/${small}`);
    expect((await post(`/customers/${customer.uid}/subscription/update`, OVERRIDES)).status).toBe(200);
    return customer;
  }

  async function stateOf({ customerId }: { customerId: bigint }) {
    const [row] = await queryRows<{ state: string; note: string }>(
      app.ctx.db,
      sql`SELECT concat_ws(' ', p.uid, s.ends_at::date::text, s.options ->> 'list_max') AS state,
                 (SELECT note FROM subscription_event e WHERE e.customer_id = s.customer_id AND e.subscription_id = s.id
                   ORDER BY e.id DESC LIMIT 1) AS note
            FROM subscription s JOIN plan p ON p.id = s.plan_id WHERE s.customer_id = ${customerId} AND s.status = 'active'`,
    );
    return row;
  }

  const DROPPED = { state: large, note: expect.stringContaining('Dropped: ends_at 2040-01-02, options list_max.') };
  const KEPT = {
    state: `${large} 2040-01-02 77`,
    note: expect.stringContaining('Kept: ends_at 2040-01-02, options list_max.'),
  };

  describe.each(['standard', 'classic'])('in the dialect %s', (dialect) => {
    const send = (path: string, body: object) =>
      app.rest(path, { method: 'POST', body, headers: { 'X-Api-Dialect': dialect } });

    test.each([
      ['ends', {}, DROPPED],
      ['stays where it is asked for', { keep_overrides: '1' }, KEPT],
    ])('%s with a paid change of plan, and with an assignment; the history says which', async (_what, body, state) => {
      const [changed, assigned] = [await special(), await special()];
      const answer = await send(`/customers/${changed.uid}/change-plan/${large}`, body);
      expect(answer.status, answer.text).toBe(200);
      // It holds until the invoice is paid.
      expect((await stateOf(changed))?.state).toBe(`${small} 2040-01-02 77`);
      await post(`/invoices/${String((answer.body as Body)['invoice_uid'])}/pay`);
      expect(await stateOf(changed)).toEqual(state);
      expect((await send(`/customers/${assigned.uid}/assign-plan/${large}`, body)).status).toBe(200);
      expect(await stateOf(assigned)).toEqual(state);
    });
  });

  test.each([
    [false, DROPPED],
    [true, KEPT],
  ])('in GraphQL, keepOverrides %s', async (keepOverrides, state) => {
    const [changed, assigned] = [await special(), await special()];
    const input = { customerUid: changed.uid, planUid: large, keepOverrides };
    const { data } = await graphql(GRAPHQL.change, { input });
    await post(`/invoices/${(data['result'] as { invoice: { uid: string } }).invoice.uid}/pay`);
    expect(await stateOf(changed)).toEqual(state);
    await graphql(GRAPHQL.assign, { input: { ...input, customerUid: assigned.uid } });
    expect(await stateOf(assigned)).toEqual(state);
  });

  test('an end that has passed while the invoice waited is not kept: what was paid would end at once', async () => {
    const customer = await special();
    const { body } = await post(`/customers/${customer.uid}/change-plan/${large}`, { keep_overrides: true });
    await app.ctx.db.execute(
      sql`UPDATE subscription SET ends_at = now() - interval '1 minute' WHERE customer_id = ${customer.customerId}`,
    );
    await post(`/invoices/${String(body['invoice_uid'])}/pay`);
    expect(await stateOf(customer)).toEqual({
      state: `${large} 77`,
      note: expect.stringContaining('options list_max.'),
    });
  });

  test('is kept by administrators only, and asking otherwise replaces a change that waits for payment', async () => {
    const customer = await special();
    const own = await graphql(GRAPHQL.change, { input: { planUid: large, keepOverrides: true } }, customer.token);
    expect(own.data['result']).toEqual({ fields: [{ field: 'keepOverrides' }] });
    const kept = await post(`/customers/${customer.uid}/change-plan/${large}`, { keep_overrides: true });
    const again = await post(`/customers/${customer.uid}/change-plan/${large}`, { keep_overrides: true });
    expect(again.body['invoice_uid']).toBe(kept.body['invoice_uid']);
    const dropped = await post(`/customers/${customer.uid}/change-plan/${large}`);
    expect(dropped.body['invoice_uid']).not.toBe(kept.body['invoice_uid']);
    await post(`/invoices/${String(dropped.body['invoice_uid'])}/pay`);
    expect(await stateOf(customer)).toEqual(DROPPED);
  });
});
