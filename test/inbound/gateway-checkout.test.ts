/** An invoice is paid through the gateway of an installed plugin, on the running product: page, route, vendor, and back. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { afterFile } from '../support/after-file.ts';
import { field } from '../support/mail-world.ts';
import { PayVendor, payGateway } from '../support/pay-gateway.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const vendor = new PayVendor();
const registration = payGateway(vendor);
Reflect.set(globalThis, 'acmePay', { vendor, registration });

/** The vendor's checkout: opening it pays. */
const site = createServer((req, res) => {
  const object = vendor.get((req.url ?? '').slice(1));
  object.status = 'SUCCEEDED';
  res.end('Thank you.');
}).listen(0, '127.0.0.1');
await once(site, 'listening');
afterFile(() => new Promise((done) => site.close(done).closeAllConnections()));
const address = site.address();
const host = `localhost:${typeof address === 'object' && address !== null ? address.port : 0}`;

const CODE = `
  const { vendor, registration } = globalThis.acmePay;
  export const plugin = {
    name: 'acme/pay',
    boot(hooks, services) {
      hooks.add('register_payment_gateway', registration);
      hooks.add('route', { method: 'GET', path: '/go/:token', auth: 'public', async handle({ params }) {
        const checkout = await services.payments.openCheckout(params.token);
        if (!checkout) return { status: 404, text: 'This link does not work.' };
        const { intent, returnUrl, gateway } = checkout;
        vendor.lastKey = gateway.data.key;
        try {
          const { uid: intentUid, amountMinor, currencyCode } = intent;
          const object = vendor.create('checkout-' + intentUid, { intentUid, amountMinor, currencyCode });
          if (!(await services.payments.saveReference(intentUid, object.id))) return { redirect: returnUrl };
          return { redirectTo: 'http://${host}/' + object.id };
        } catch (error) {
          return { redirect: returnUrl, error: error.message };
        }
      } });
      hooks.add('route', { method: 'GET', path: '/elsewhere', auth: 'public', handle: () => ({ redirectTo: 'https://evil.example/' }) });
      hooks.add('route', { method: 'GET', path: '/plain', auth: 'public', handle: () => ({ redirectTo: 'http://${host.replace('localhost', '127.0.0.1')}/' }) });
    },
  };`;

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
writePlugin(dataDir, 'acme/pay', { code: CODE, rights: { browserHosts: [host] } });

const planUid = String(
  field(
    await app.rest('/plans', {
      method: 'POST',
      body: { name: 'Pro', price: '19.90', currency_code: 'EUR', frequency_amount: 1, frequency_unit: 'month' },
    }),
    'plan_uid',
  ),
);

async function dueCustomer() {
  const tenant = await app.newTenant({ hasPlan: false });
  const customerUid = await customerUidOf(tenant.customerId);
  const change = await app.rest(`/customers/${customerUid}/change-plan/${planUid}`, { method: 'POST', body: {} });
  return { ...tenant, invoice: String(field(change, 'invoice_uid')), url: String(field(change, 'checkout_url')) };
}

async function customerUidOf(id: bigint): Promise<string> {
  const [row] = await app.ctx.db.query({ uid: 'text' }, sql`SELECT uid FROM customer WHERE id = ${id}`);
  return row?.uid ?? '';
}

async function open(url: string, { form, cookie }: { form?: Record<string, string>; cookie?: string } = {}) {
  const answer = await fetch(url, {
    redirect: 'manual',
    headers: cookie === undefined ? {} : { cookie },
    ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
  });
  const location = answer.headers.get('location') ?? '';
  const next = location === '' ? '' : new URL(location, app.baseUrl).href;
  return { status: answer.status, headers: answer.headers, text: await answer.text(), next };
}

test('the hosts to which a plugin sends browsers must be granted by name', async () => {
  expect(await client.activate('acme/pay')).toMatchObject({ code: 'PLUGIN_GRANT_NEEDED' });
  expect(await client.activate('acme/pay', { browserHosts: [host] })).toMatchObject({ status: 'ACTIVE', isLive: true });
});

let gatewayUid = '';
test('an administrator sets the gateway up; wrong settings and a failed test store nothing; credentials are not answered', async () => {
  const post = (settings: object) =>
    app.rest('/payment_gateways', { method: 'POST', body: { name: 'Acme Card', type: 'acme-pay', settings } });
  expect(field(await post({ key: 'pk' }), 'errors')).toEqual({ 'settings.key': ['The key begins with sk_.'] });
  vendor.isWell = false;
  expect(field(await post({ key: 'sk_1' }), 'errors')).toEqual({ connection: ['The key is not known.'] });
  vendor.isWell = true;
  const made = await post({ key: 'sk_live', account: 'a' });
  expect(made.status).toBe(201);
  expect(made.text).not.toContain('sk_live');
  gatewayUid = String(field(made, 'payment_gateway_uid'));
  const types = await app.rest('/payment_gateway_types');
  expect(types.body).toMatchObject([
    { type: 'offline', plugin: null },
    { type: 'acme-pay', plugin: 'acme/pay', icon: 'payment', is_remote_subscription: false, secret_keys: ['key'] },
    { type: 'paypal', plugin: 'mailwright/paypal', is_remote_subscription: true, secret_keys: ['client_secret'] },
    { type: 'stripe', plugin: 'mailwright/stripe', is_remote_subscription: true, secret_keys: ['secret_key'] },
  ]);
  const tenant = await app.newTenant();
  expect((await app.rest('/payment_gateways', { token: tenant.token })).status).toBe(403);
});

test('a customer pays on the page: the button leads over the plugin to the vendor, and the page finds the payment', async () => {
  const { url, invoice, token } = await dueCustomer();
  const page = await open(url);
  expect(page.text).toContain('Pay with Acme Card');
  // Browsers check each redirect of a form.
  expect(page.headers.get('content-security-policy')).toContain(`form-action 'self' http://${host};`);
  const toPlugin = await open(url, { form: { gateway: gatewayUid } });
  expect(toPlugin.status).toBe(303);
  expect(toPlugin.next).toMatch(new RegExp(`^${app.baseUrl}/plugins/acme/pay/go/`));
  const before = vendor.objects.size;
  const toVendor = await open(toPlugin.next);
  expect(toVendor.next).toBe(`http://${host}/obj_${before + 1}`);
  // Again, as after the button "back": the same object.
  expect((await open(toPlugin.next)).next).toBe(toVendor.next);
  expect(Reflect.get(vendor, 'lastKey')).toBe('sk_live');
  expect((await open(url)).text).toContain('Check again');
  await fetch(toVendor.next);
  await new Promise((done) => setTimeout(done, 2_100));
  expect((await open(url, { form: { refresh: '1' } })).text).toContain('This invoice is paid');
  expect(field(await app.rest(`/invoices/${invoice}`, { token }), 'invoice')).toMatchObject({
    status: 'paid',
    payments: [{ method: 'acme-pay', status: 'SUCCEEDED', reference: `obj_${before + 1}`, sync_error: null }],
  });
});

test('while a bank debit is under way the page offers no other way to pay, only to look again', async () => {
  const { url } = await dueCustomer();
  const toVendor = await open((await open(url, { form: { gateway: gatewayUid } })).next);
  vendor.get(toVendor.next.split('/').at(-1) ?? '').isProcessing = true;
  for (const form of [undefined, { refresh: '1' }, { note: 'By transfer.' }, { gateway: gatewayUid }]) {
    const page = await open(url, form ? { form } : {});
    expect(page.status).toBe(200);
    expect(page.text).toContain('Your payment is under way');
    expect(page.text).toContain('Check again');
    expect(page.text).not.toContain('Pay with Acme Card');
    expect(page.text).not.toContain('name="note"');
  }
});

test('what the vendor refuses is shown on the page after the redirect, once', async () => {
  const { url } = await dueCustomer();
  vendor.failures.set('create', new Error('The amount is <too> small.'));
  const toPlugin = await open(url, { form: { gateway: gatewayUid } });
  const back = await open(toPlugin.next);
  vendor.failures.clear();
  expect(back.next).toBe(url);
  const cookie = back.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  expect(back.headers.getSetCookie()[0]).toContain('HttpOnly');
  const page = await open(back.next, { cookie });
  expect(page.text).toContain('The amount is &lt;too&gt; small.');
  expect(page.headers.getSetCookie()[0]).toContain('Max-Age=0');
  expect((await open(url, { cookie: 'mailwright_flash=AAAA' })).text).not.toContain('role="alert"');
  const { url: other } = await dueCustomer();
  expect((await open(other, { cookie })).text).not.toContain('small');
});

test('by REST: the invoice names its gateways, checkout begins a payment, refresh finds it; other tenants are refused', async () => {
  const { invoice, token } = await dueCustomer();
  const stranger = await dueCustomer();
  const shown = await app.rest(`/invoices/${invoice}`, { token });
  expect(field(shown, 'invoice', 'payment_gateways')).toMatchObject([{ type: 'offline' }, { uid: gatewayUid }]);
  const body = { gateway_uid: gatewayUid };
  expect(
    (await app.rest(`/invoices/${invoice}/checkout`, { method: 'POST', token: stranger.token, body })).status,
  ).toBe(403);
  const begun = await app.rest(`/invoices/${invoice}/checkout`, { method: 'POST', token, body });
  expect(begun.status).toBe(201);
  const toVendor = await open(String(field(begun, 'url')));
  await fetch(toVendor.next);
  const refreshed = await app.rest(`/invoices/${invoice}/refresh`, { method: 'POST', token });
  expect(field(refreshed, 'invoice', 'status')).toBe('paid');
  expect((await app.rest(`/invoices/${invoice}/refresh`, { method: 'POST', token: stranger.token })).status).toBe(403);
});

test('a route sends browsers nowhere else', async () => {
  expect((await open(`${app.baseUrl}/plugins/acme/pay/elsewhere`)).status).toBe(500);
  expect((await open(`${app.baseUrl}/plugins/acme/pay/plain`)).status).toBe(500);
  expect((await open(`${app.baseUrl}/plugins/acme/pay/go/0123456789abc.zz.AAAAAAAAAAAAAAAAAAAAAA`)).status).toBe(404);
});

test('without its plugin a gateway has a fault, is not offered, and its payments wait', async () => {
  const { url, token, invoice } = await dueCustomer();
  const begun = await app.rest(`/invoices/${invoice}/checkout`, {
    method: 'POST',
    token,
    body: { gateway_uid: gatewayUid },
  });
  await open(String(field(begun, 'url')));
  await client.deactivate('acme/pay');
  expect((await open(url)).text).not.toContain('Pay with Acme Card');
  const shown = await app.rest(`/payment_gateways/${gatewayUid}`);
  expect(field(shown, 'payment_gateway', 'fault')).toContain('No active plugin');
  const refreshed = await app.rest(`/invoices/${invoice}/refresh`, { method: 'POST', token });
  expect(field(refreshed, 'invoice', 'payments')).toMatchObject([
    { status: 'PENDING', sync_error: expect.stringContaining('No active plugin') },
  ]);
});
