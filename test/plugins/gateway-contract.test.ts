/**
 * The contract of payment gateways (specification 3.6, 4.13) with a plugin in a folder, on two processes of one installation that share nothing
 * but the database and the folder: what one of them begins the other one ends.
 */
import { beforeAll, expect, test, vi } from 'vitest';
import { openDatabase, sql } from '../../src/db/database.ts';
import { freePort } from '../support/free-port.ts';
import { syncPaymentsJob } from '../../src/jobs/billing-jobs.ts';
import { enqueue } from '../../src/jobs/define-job.ts';
import { silentLog } from '../../src/lib/log.ts';
import { newUid } from '../../src/lib/ids.ts';
import { afterFile } from '../support/after-file.ts';
import { field } from '../support/mail-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startProgram, type Program } from '../support/program.ts';
import type { RestAnswer } from '../support/rest-app.ts';
import { pursePlugin, PurseVendor } from '../support/purse-plugin.ts';
import { createTestDatabase } from '../support/test-database.ts';

const vendor = await new PurseVendor().start();
const { url: databaseUrl } = await createTestDatabase();
const database = openDatabase({ url: databaseUrl, poolSize: 2, log: silentLog, applicationName: 'mailwright-test' });
afterFile(() => database.close());
const dataDir = newDataDir();
writePlugin(dataDir, 'acme/purse', pursePlugin(vendor.host));
// As behind a load balancer: links lead to one address, which the test replaces by that of a process.
const BASE_URL = `http://127.0.0.1:${await freePort()}`;
const settings = {
  ...{ DATABASE_URL: databaseUrl, DATA_DIR: dataDir, ROLES: 'web,worker', DB_POOL_SIZE: '8', BASE_URL },
  OUTBOUND_ALLOW_HOSTS: 'localhost',
};
const both = [await startProgram(settings), await startProgram(settings)] as const;
const [first, second] = both;
async function rest(
  { baseUrl, token }: Program,
  path: string,
  body?: object,
  method = body ? 'POST' : 'GET',
): Promise<RestAnswer> {
  const answer = await fetch(`${baseUrl}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) };
}

/** What a browser gets at this process. */
async function open(
  program: Program,
  url: string,
  { form, cookie }: { form?: Record<string, string>; cookie?: string } = {},
) {
  const answer = await fetch(new URL(url.replace(BASE_URL, program.baseUrl), program.baseUrl), {
    redirect: 'manual',
    headers: cookie === undefined ? {} : { cookie },
    ...(form && { method: 'POST', body: new URLSearchParams(form) }),
  });
  return {
    status: answer.status,
    location: answer.headers.get('location') ?? '',
    cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '',
    text: await answer.text(),
  };
}

const newPlan = async (currency: string) => {
  const body = { name: 'Pro', price: '19.90', currency_code: currency, frequency_amount: 1, frequency_unit: 'month' };
  return String(field(await rest(first, '/plans', body), 'plan_uid'));
};

let made: RestAnswer;
let gatewayUid = '';
let plan = '';
beforeAll(async () => {
  const granted = { hosts: [vendor.host], browserHosts: [vendor.host] };
  expect(await pluginClient(first).activate('acme/purse', granted)).toMatchObject({ status: 'ACTIVE', error: null });
  for (const program of both)
    await vi.waitFor(
      async () => expect(await pluginClient(program).plugin('acme/purse')).toMatchObject({ isLive: true }),
      120_000,
    );
  const body = { name: 'Purse', type: 'purse', settings: { account: 'a', key: 'secret-key' } };
  made = await rest(first, '/payment_gateways', body);
  gatewayUid = String(field(made, 'payment_gateway_uid'));
  plan = await newPlan('EUR');
});

/** An invoice that waits, and its page. */
async function due(planUid = plan) {
  const person = {
    email: `${newUid()}@payer.example`,
    password: 'correct horse battery',
    first_name: 'A',
    last_name: 'B',
  };
  const customer = String(field(await rest(first, '/customers', person), 'customer_uid'));
  const change = await rest(first, `/customers/${customer}/change-plan/${planUid}`, {});
  return { invoice: String(field(change, 'invoice_uid')), url: String(field(change, 'checkout_url')) };
}

type Due = Awaited<ReturnType<typeof due>>;
const begin = async ({ url }: Due, program = first) =>
  (await open(program, url, { form: { gateway: gatewayUid } })).location;
/** Of the invoice, and of its payment. */
async function stateOf({ invoice }: Due): Promise<readonly (string | null)[]> {
  const [row] = await database.query(
    { invoice: 'text', payment: 'text?' },
    sql`SELECT i.status AS invoice, p.status AS payment FROM invoice i
          LEFT JOIN payment_intent p ON p.customer_id = i.customer_id AND p.invoice_id = i.id WHERE i.uid = ${invoice}`,
  );
  return [row?.invoice ?? null, row?.payment ?? null];
}
const madeObjects = () => vendor.requests.filter((request) => request.startsWith('POST')).length;

test('a gateway of a plugin in a folder is registered with all its parameters, at both processes', async () => {
  for (const program of both) {
    const { body } = await rest(program, '/payment_gateway_types');
    expect(body).toEqual(
      expect.arrayContaining([
        {
          ...{ type: 'purse', name: 'Purse', description: 'Pays from a purse.', icon: 'wallet', plugin: 'acme/purse' },
          ...{ is_remote_subscription: true, form_url: '/plugins/acme/purse/pages/setup', currencies: ['EUR'] },
          ...{ config_keys: ['account', 'key'], secret_keys: ['key'] },
        },
        // What may be left out has the default of the specification.
        expect.objectContaining({
          type: 'plain-purse',
          icon: 'payment',
          is_remote_subscription: false,
          form_url: null,
        }),
      ]),
    );
  }
});

test('its service is made from the gateway’s record and reads credentials by key; they are answered to nobody', async () => {
  expect([...vendor.keys]).toEqual(['secret-key']);
  const shown = await rest(second, `/payment_gateways/${gatewayUid}`);
  expect(field(shown, 'payment_gateway')).toMatchObject({ type: 'purse', settings: { account: 'a' }, fault: null });
  expect(made.text + shown.text).not.toContain('secret-key');
  await rest(second, `/payment_gateways/${gatewayUid}`, { settings: { key: 'other-key' } }, 'PATCH');
  const customer = await due();
  await open(first, await begin(customer));
  expect([...vendor.keys]).toEqual(['secret-key', 'other-key']);
});

test('showing the page and beginning to pay has no effect at the vendor, however often; the plugin’s own route calls it', async () => {
  const customer = await due();
  const before = vendor.requests.length;
  const addresses = new Set<string>();
  for (let round = 0; round < 10; round += 1)
    for (const program of both) {
      expect((await open(program, customer.url)).text).toContain('Pay with Purse');
      addresses.add((await begin(customer, program)).replace(/^.*(\/plugins\/acme\/purse\/go\/\w+)\..*$/, '$1'));
    }
  // One intent, and nothing was asked.
  expect(addresses.size).toBe(1);
  expect(vendor.requests.length).toBe(before);
  const toVendor = await open(second, await begin(customer));
  expect(toVendor.location).toBe(`http://${vendor.host}/pay/${vendor.newest().id}`);
  expect(vendor.requests.slice(before)).toEqual(['POST /objects']);
  // From now on the page asks for the state, which changes nothing.
  for (const program of both) await open(program, customer.url);
  expect(vendor.requests.slice(before + 1).every((request) => request === `GET /objects/${vendor.newest().id}`)).toBe(
    true,
  );
});

test('when the vendor refuses, the browser comes back to the page, which shows the error once, at either process', async () => {
  const customer = await due();
  vendor.refusal = 'The purse is <empty>.';
  const back = await open(first, await begin(customer));
  vendor.refusal = '';
  expect(back.status).toBe(303);
  expect(back.location).toContain('/checkout/offline/');
  expect((await open(second, back.location, { cookie: back.cookie })).text).toContain('The purse is &lt;empty&gt;.');
  expect((await open(second, back.location)).text).not.toContain('The purse is');
  expect(await stateOf(customer)).toEqual(['pending', 'PENDING']);
});

test('the vendor gets the uid of the intent, the amount and its currency; an object of another intent, or another amount, pays nothing', async () => {
  const customer = await due();
  await open(first, await begin(customer));
  const object = vendor.newest();
  const [intent] = await database.query(
    { uid: 'text' },
    sql`SELECT uid FROM payment_intent WHERE reference = ${object.id}`,
  );
  expect(object).toMatchObject({ custom: intent?.uid, amount: 1_990, currency: 'EUR' });
  for (const wrong of [{ custom: '0123456789abc' }, { amount: 1_989 }, { currency: 'USD' }]) {
    vendor.objects.set(object.id, { ...object, ...wrong, status: 'SUCCEEDED' });
    await syncDue();
    expect(await stateOf(customer)).toEqual(['pending', 'PENDING']);
  }
  vendor.objects.set(object.id, { ...object, status: 'SUCCEEDED' });
  await syncDue();
  await expect.poll(() => stateOf(customer)).toEqual(['paid', 'SUCCEEDED']);
});

test('an invoice in a currency that the gateway does not name is refused before the vendor is asked', async () => {
  const customer = await due(await newPlan('USD'));
  const before = vendor.requests.length;
  for (const program of both) {
    const refused = await rest(program, `/invoices/${customer.invoice}/checkout`, { gateway_uid: gatewayUid });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('does not take USD');
    expect((await open(program, customer.url)).text).not.toContain('Pay with Purse');
  }
  expect(vendor.requests.length).toBe(before);
});

/** The periodic sync, by a process that has time. */
async function syncDue(): Promise<void> {
  await database.execute(
    sql`UPDATE payment_intent SET synced_at = now() - interval '1 minute', next_sync_at = now() - interval '1 second' WHERE next_sync_at IS NOT NULL`,
  );
  await enqueue(database, syncPaymentsJob, {});
  const waiting = () =>
    database.query(
      { count: 'int' },
      sql`SELECT count(*)::int AS count FROM graphile_worker.jobs WHERE task_identifier = 'billing.sync-payments'`,
    );
  await expect.poll(async () => (await waiting())[0]?.count).toBe(0);
}

type Reading = readonly [when: string, read: (customer: Due) => Promise<void>];
test.for<Reading>([
  ['the page is loaded', async ({ url }) => void (await open(second, url))],
  ['the button is pressed', async ({ url }) => void (await open(second, url, { form: { refresh: '1' } }))],
  ['somebody asks by REST', async ({ invoice }) => void (await rest(second, `/invoices/${invoice}/refresh`, {}))],
  ['the periodic sync runs', () => syncDue()],
])('the host reads the vendor’s state when %s, and moves the intent; no webhook is needed', async ([, read]) => {
  const customer = await due();
  await open(first, await begin(customer));
  const object = vendor.newest();
  object.status = 'SUCCEEDED';
  // What was paid is not known before it is read.
  expect(await stateOf(customer)).toEqual(['pending', 'PENDING']);
  await read(customer);
  await expect.poll(() => stateOf(customer)).toEqual(['paid', 'SUCCEEDED']);
});

test('PENDING, REQUIRES_ACTION and back, FAILED: each state is what the vendor said when the host read it; final ones stay', async () => {
  const customer = await due();
  await open(first, await begin(customer));
  const object = vendor.newest();
  for (const status of ['REQUIRES_ACTION', 'PENDING', 'REQUIRES_ACTION', 'FAILED'] as const) {
    object.status = status;
    await syncDue();
    await expect.poll(() => stateOf(customer)).toEqual(['pending', status]);
  }
  for (const status of ['PENDING', 'REQUIRES_ACTION', 'CANCELLED'] as const) {
    object.status = status;
    await syncDue();
    expect(await stateOf(customer)).toEqual(['pending', 'FAILED']);
  }
});

test('a plugin has no means to change an intent: it opens a checkout and saves an id', async () => {
  const customer = await due();
  const { text } = await open(first, (await begin(customer)).replace('/go/', '/try/'));
  expect(JSON.parse(text)).toEqual({
    can: ['openCheckout', 'saveReference'],
    tried: ['status: refused', 'amount: refused', 'intent: refused'],
  });
  expect(await stateOf(customer)).toEqual(['pending', 'PENDING']);
});

test('two browsers at two processes begin one payment: one object at the vendor', async () => {
  const customer = await due();
  const before = madeObjects();
  const objects = vendor.objects.size;
  const addresses = await Promise.all([...both, ...both, ...both].map((program) => begin(customer, program)));
  const places = await Promise.all(addresses.map((address, index) => open(index % 2 === 0 ? first : second, address)));
  expect(new Set(places.map(({ location }) => location)).size).toBe(1);
  expect(madeObjects()).toBeGreaterThan(before);
  expect(vendor.objects.size).toBe(objects + 1);
});
