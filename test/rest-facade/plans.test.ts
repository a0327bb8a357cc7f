/** Plans and currencies over REST, in both dialects, with a twin in GraphQL. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startRestApp, type RestRequest } from '../support/rest-app.ts';

const app = await startRestApp();
const right = {
  name: 'Small',
  currency_id: 49,
  frequency_amount: '1',
  frequency_unit: 'month',
  price: '9.90',
  color: '#336699',
};

async function newPlan(changes: Record<string, unknown> = {}, request: RestRequest = {}) {
  const answer = await app.rest('/plans', { method: 'POST', body: { ...right, ...changes }, ...request });
  return { ...answer, body: answer.body as { plan_uid: string; plan: Record<string, unknown>; errors: object } };
}

const classic = { 'X-Api-Dialect': 'classic' };

describe('making a plan', () => {
  test('answers the action result, 201 or in the classic dialect 200', async () => {
    const answer = await newPlan();
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      status: 1,
      message: 'Plan was successfully created',
      plan_uid: expect.stringMatching(/^[0-9a-f]{13}$/),
      plan: { price: '9.90', currency_code: 'EUR', frequency_amount: '1', frequency_unit: 'month', quota: null },
    });
    expect((await newPlan({}, { headers: classic })).status).toBe(200);
  });

  test.each([
    [
      'nested JSON',
      { options: { email_max: 10_000, api_access: true, sending_server_types: { smtp: 'yes', sendmail: 0 } } },
    ],
    [
      'keys with brackets',
      {
        'options[email_max]': '10000',
        'options[api_access]': 'yes',
        'options[sending_server_types][smtp]': 'yes',
        'options[sending_server_types][sendmail]': 'no',
      },
    ],
  ])('takes options as %s', async (_, options) => {
    const { body } = await newPlan(options);
    expect(body.plan['options']).toMatchObject({
      email_max: '10000',
      api_access: 'yes',
      list_max: '-1',
      sending_server_types: { smtp: 'yes', sendmail: 'no', 'amazon-api': 'yes', 'brevo-smtp': 'yes' },
    });
  });

  test('takes a form, and a code instead of a number', async () => {
    const form = new URLSearchParams({
      ...right,
      currency_id: '',
      currency_code: 'jpy',
      price: '1000',
      'options[list_max]': '3',
    });
    const { body } = await newPlan({}, { body: form });
    expect(body.plan).toMatchObject({ price: '1000', currency_code: 'JPY', options: { list_max: '3' } });
  });

  test('tells all faults at once', async () => {
    const { status, body } = await newPlan({
      name: '',
      price: '9.999',
      frequency_unit: 'fortnight',
      options: { nonsense: '1', list_max: 'many', email_max: -2 },
    });
    expect(status).toBe(422);
    expect(Object.keys(body.errors).toSorted()).toEqual(
      ['frequency_unit', 'name', 'options.email_max', 'options.list_max', 'options.nonsense', 'price'].toSorted(),
    );
  });

  test.each([
    ['a fraction of a cent', { price: '9.999' }, 'price'],
    ['half a yen', { price: '10.5', currency_id: 72 }, 'price'],
    ['a negative price', { price: '-1' }, 'price'],
    ['no price', { price: '' }, 'price'],
    ['no currency', { currency_id: undefined }, 'currency_id'],
    ['a currency that there is not', { currency_id: 100_000 }, 'currency_id'],
    ['a code that there is not', { currency_code: 'XXX' }, 'currency_code'],
    ['a period of nothing', { frequency_amount: 0 }, 'frequency_amount'],
    ['a period of a century', { frequency_amount: 100, frequency_unit: 'year' }, 'frequency_amount'],
  ])('refuses %s', async (_, changes, field) => {
    const { status, body } = await newPlan(changes);
    expect(status).toBe(422);
    expect(Object.keys(body.errors)).toEqual([field]);
  });

  test('takes the options of verification servers, which have an effect (D53)', async () => {
    const options = {
      create_email_verification_servers: 'yes',
      all_email_verification_servers: 'no',
      email_verification_servers_max: 2,
    };
    const made = await newPlan({ options });
    expect(made.body).not.toHaveProperty('ignored');
    expect(made.body.plan).toMatchObject({ options: { ...options, email_verification_servers_max: '2' } });
  });

  test('is for administrators', async () => {
    const { token } = await app.newTenant();
    expect((await newPlan({}, { token })).status).toBe(403);
    expect((await newPlan({}, { token: null })).status).toBe(401);
  });
});

describe('reading plans', () => {
  test('answers an array in both dialects, numbers as texts', async () => {
    for (const headers of [{}, classic]) {
      const { status, body } = await app.rest('/plans', { headers });
      expect(status).toBe(200);
      const [first] = body as Record<string, unknown>[];
      expect(first).toMatchObject({
        price: expect.stringMatching(/^\d+\.\d\d$/),
        frequency_amount: '1',
        custom_order: '1',
        status: 'active',
        quota: null,
      });
      const options = Object.values(first?.['options'] ?? {}).filter((value) => typeof value !== 'object');
      expect(options.every((value) => typeof value === 'string')).toBe(true);
    }
  });

  test('ends for a client that pages until there is nothing', async () => {
    const seen: string[] = [];
    for (let page = 1; page < 1_000; page++) {
      const plans = (await app.rest(`/plans?page=${page}&per_page=3`)).body as { uid: string }[];
      if (plans.length === 0) break;
      seen.push(...plans.map(({ uid }) => uid));
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(((await app.rest('/plans')).body as { uid: string }[]).map(({ uid }) => uid));
  });

  test('shows customers what is on offer, and administrators what is archived too', async () => {
    const { token } = await app.newTenant();
    const { plan_uid: uid } = (await newPlan()).body;
    expect((await app.rest(`/plans/${uid}`, { token })).body).toMatchObject({ plan: { uid, price: '9.90' } });
    await app.rest(`/plans/${uid}`, { method: 'PATCH', body: { status: 'inactive' } });
    const uidsFor = async (who: { token?: string }) =>
      ((await app.rest('/plans', who)).body as { uid: string }[]).map((plan) => plan.uid);
    expect(await uidsFor({ token })).not.toContain(uid);
    expect(await uidsFor({})).toContain(uid);
    expect((await app.rest(`/plans/${uid}`, { token })).status).toBe(404);
  });

  test('serves the currencies', async () => {
    const { token } = await app.newTenant();
    const currencies = (await app.rest('/currencies', { token })).body as { id: number; code: string }[];
    expect(currencies[48]).toEqual({ id: 49, code: 'EUR', name: 'Euro', exponent: 2 });
  });
});

describe('changing and deleting', () => {
  test('changes what is given and leaves the rest', async () => {
    const { plan_uid: uid } = (await newPlan({ options: { list_max: 3, email_max: 5 } })).body;
    const { body } = await app.rest(`/plans/${uid}`, {
      method: 'PATCH',
      body: { price: 12, options: { list_max: null, campaign_max: '7' } },
    });
    expect(body).toMatchObject({
      status: 1,
      plan_uid: uid,
      plan: { name: 'Small', price: '12.00', options: { list_max: '-1', email_max: '5', campaign_max: '7' } },
    });
  });

  test('deletes what nobody has', async () => {
    const { plan_uid: uid } = (await newPlan()).body;
    expect((await app.rest(`/plans/${uid}`, { method: 'DELETE' })).body).toEqual({
      status: 1,
      message: 'Deleted',
      plan_uid: uid,
    });
    expect((await app.rest(`/plans/${uid}`, { method: 'DELETE' })).status).toBe(404);
    expect(await queryRows(app.ctx.db, sql`SELECT 1 FROM plan WHERE uid = ${uid}`)).toEqual([]);
  });

  test('refuses to delete what somebody has', async () => {
    const { plan_uid: planUid } = (await newPlan()).body;
    const { customerId } = await app.newTenant();
    const [customer] = await queryRows<{ uid: string }>(
      app.ctx.db,
      sql`SELECT uid FROM customer WHERE id = ${customerId}`,
    );
    await app.rest(`/customers/${customer?.uid}/assign-plan/${planUid}`, { method: 'POST' });
    const answer = await app.rest(`/plans/${planUid}`, { method: 'DELETE' });
    expect(answer).toMatchObject({ status: 422, body: { errors: { status: [expect.stringMatching(/Archive/)] } } });
  });
});

test('GraphQL makes the same plan', async () => {
  const query = `mutation ($input: CreatePlanInput!) { createPlan(input: $input) {
    ... on Plan { uid price { amount minor currencyCode } }
    ... on ValidationError { fields { field } } } }`;
  const run = async (changes: Record<string, unknown>) => {
    const input = {
      name: 'Small',
      price: '9.90',
      currencyCode: 'EUR',
      frequencyAmount: 1,
      frequencyUnit: 'month',
      color: '#336699',
      ...changes,
    };
    const response = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${app.adminToken}` },
      body: JSON.stringify({ query, variables: { input } }),
    });
    return ((await response.json()) as { data: { createPlan: { uid: string } } }).data.createPlan;
  };
  const made = await run({});
  expect(made).toMatchObject({ price: { amount: '9.90', minor: '990', currencyCode: 'EUR' } });
  expect(await run({ price: '9.999' })).toMatchObject({ fields: [{ field: 'price' }] });
  const twin = (await newPlan()).body.plan_uid;
  const stored = await queryRows(
    app.ctx.db,
    sql`
    SELECT name, price_minor, currency_code, frequency_amount, frequency_unit, color, status, options
      FROM plan WHERE uid IN (${made.uid}, ${twin})`,
  );
  expect(stored[0]).toEqual(stored[1]);
});
