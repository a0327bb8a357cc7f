/**
 * What a customer may do before it has paid (D55): while its first subscription waits for payment it prepares and sends nothing;
 * without any subscription it logs in, pays and reads.
 */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const DIALECTS = ['standard', 'classic'] as const;

async function ask(path: string, { method = 'GET', token, body, dialect }: Asked = {}) {
  const headers = dialect ? { 'X-Api-Dialect': dialect } : {};
  return app.rest(path, { method, headers, ...(body && { body }), ...(token && { token }) });
}
interface Asked {
  method?: string;
  token?: string;
  body?: object;
  dialect?: (typeof DIALECTS)[number];
}

async function graphql(query: string, variables: object, token: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return (await answer.json()).data;
}

const plan = { name: 'Paid', price: '10.00', currency_code: 'EUR', frequency_amount: 1, frequency_unit: 'month' };
const planUid = String(
  field(await ask('/plans', { method: 'POST', body: { ...plan, options: { list_max: '2' } } }), 'plan_uid'),
);

const CHANGE_PLAN = `mutation ($input: ChangePlanInput!) { changePlan(input: $input) {
  __typename ... on SubscriptionChange { invoice { uid } subscription { status } } ... on Error { message } } }`;

/** Chooses the plan, as the customer itself does; nothing is paid. */
async function choosePlan({ token }: RestTenant): Promise<string> {
  const { changePlan } = await graphql(CHANGE_PLAN, { input: { planUid } }, token);
  expect(changePlan).toMatchObject({ subscription: { status: 'pending' }, invoice: { uid: expect.any(String) } });
  return (changePlan as { invoice: { uid: string } }).invoice.uid;
}

const source = async ({ token }: RestTenant) =>
  graphql('{ allowance { ... on Allowance { source limits { name max } } } }', {}, token);
const refusal = (code: RegExp) => ({ status: 422, body: { message: expect.stringMatching(code) } });
const UNPAID = refusal(/^The first invoice of the subscription is not paid yet/);
const NO_SUBSCRIPTION = refusal(/^There is no subscription yet/);

describe('while the first subscription waits for payment', () => {
  test.each(DIALECTS)(
    'lists, people and campaigns are prepared within the limits of the plan (%s)',
    async (dialect) => {
      const owner = await app.newTenant({ hasPlan: false });
      const invoice = await choosePlan(owner);
      expect(await source(owner)).toMatchObject({
        allowance: { source: 'pending', limits: expect.arrayContaining([{ name: 'list_max', max: 2 }]) },
      });
      const post = (path: string, body: object) => ask(path, { method: 'POST', body, token: owner.token, dialect });
      const uid = String(field(await post('/lists', LIST_BODY), 'list_uid'));
      expect((await post('/lists', LIST_BODY)).status).toBe(dialect === 'classic' ? 200 : 201);
      expect(await post('/lists', LIST_BODY)).toMatchObject({
        status: 422,
        body: { errors: { name: expect.anything() } },
      });
      const person = await post('/subscribers', { list_uid: uid, EMAIL: `ann@${dialect}.example` });
      expect(person.status, person.text).toBe(dialect === 'classic' ? 200 : 201);
      const world = mailWorld(app, owner);
      const campaign = await world.newCampaign({ uid });

      for (const [path, body] of [
        [`/campaigns/${campaign}/run`, {}],
        [`/campaigns/${campaign}/test`, { emails: ['someone@elsewhere.example'] }],
      ] as const)
        expect(await post(path, body), path).toMatchObject(UNPAID);
      const start = await graphql(
        'mutation ($uid: String!) { startCampaign(uid: $uid) { __typename ... on Error { message } } }',
        { uid: campaign },
        owner.token,
      );
      expect(start).toMatchObject({ startCampaign: UNPAID.body });

      // Paid: now it is sent.
      expect((await ask(`/invoices/${invoice}/pay`, { method: 'POST', body: {} })).status).toBe(200);
      const run = await post(`/campaigns/${campaign}/run`, {});
      expect(run.status, run.text).toBe(200);
      await world.done(campaign);
      expect(await world.mailsTo(`ann@${dialect}.example`)).toHaveLength(1);
    },
  );

  test('no mail of a list leaves: who would be asked to confirm is refused, and a sign-up page is closed', async () => {
    const owner = await app.newTenant({ hasPlan: false });
    const invoice = await choosePlan(owner);
    const post = (path: string, body: object) => ask(path, { method: 'POST', body, token: owner.token });
    const body = { ...LIST_BODY, subscribe_confirmation: 1, public_signup: 1, unsubscribe_notification: 1 };
    const uid = String(field(await post('/lists', body), 'list_uid'));
    const person = { list_uid: uid, EMAIL: 'bob@confirm.example' };
    expect(await post('/subscribers', person)).toMatchObject(UNPAID);
    const signUp = await fetch(`${app.baseUrl}/api/v1/public/subscribers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(person),
    });
    expect(signUp.status).toBe(422);

    const welcome = { ...LIST_BODY, send_welcome_email: 1 };
    const quiet = String(field(await post('/lists', welcome), 'list_uid'));
    expect((await post('/subscribers', { list_uid: quiet, EMAIL: 'cid@confirm.example' })).status).toBe(201);
    // The queue has looked at the welcome mail, and has sent none.
    await until(async () => {
      const [{ open } = { open: 1 }] = await queryRows<{ open: number }>(
        app.ctx.db,
        sql`SELECT count(*)::int AS open FROM hot.message_queue`,
      );
      return open === 0 ? true : undefined;
    });
    const { mailsTo } = mailWorld(app, owner);
    for (const { EMAIL } of [person, { EMAIL: 'cid@confirm.example' }]) expect(await mailsTo(EMAIL)).toEqual([]);

    await ask(`/invoices/${invoice}/pay`, { method: 'POST', body: {} });
    expect((await post('/subscribers', person)).status).toBe(201);
    await mailWorld(app, owner).mailTo(person.EMAIL);
  });
});

describe('without any subscription', () => {
  test.each(DIALECTS)('a customer logs in, reads and pays, and makes nothing (%s)', async (dialect) => {
    const owner = await app.newTenant({ hasPlan: false });
    const login = await ask('/user/login', {
      method: 'POST',
      body: { email: owner.email, password: owner.password },
      dialect,
    });
    expect(login.status).toBe(200);
    const as = { token: owner.token, dialect };
    for (const path of ['/me', '/lists', '/campaigns', '/plans']) expect((await ask(path, as)).status, path).toBe(200);
    expect(await source(owner)).toMatchObject({ allowance: { source: 'none' } });

    expect(await ask('/lists', { ...as, method: 'POST', body: LIST_BODY })).toMatchObject(NO_SUBSCRIPTION);
    const upload = new FormData();
    upload.append('file', new Blob(['x']), 'x.txt');
    expect(await app.rest('/file/upload', { method: 'POST', body: upload, token: owner.token })).toMatchObject(
      NO_SUBSCRIPTION,
    );

    const invoice = await choosePlan(owner);
    expect((await ask(`/invoices/${invoice}`, as)).status).toBe(200);
    const claim = await ask(`/invoices/${invoice}/claim`, { ...as, method: 'POST', body: { note: 'Paid today' } });
    expect(claim.status).toBe(dialect === 'classic' ? 200 : 201);
  });

  test('the first subscription that was not paid in time leaves none', async () => {
    const owner = await app.newTenant({ hasPlan: false });
    await choosePlan(owner);
    await app.ctx.db.execute(
      sql`UPDATE subscription SET status = 'ended', ends_at = now() WHERE customer_id = ${owner.customerId}`,
    );
    expect(await source(owner)).toMatchObject({ allowance: { source: 'none' } });
  });
});

test("the operator's own account is not limited (D45)", async () => {
  expect((await ask('/lists', { method: 'POST', body: LIST_BODY })).status).toBe(201);
  expect(await graphql('{ allowance { ... on Allowance { source } } }', {}, app.adminToken)).toMatchObject({
    allowance: { source: 'unlimited' },
  });
});
