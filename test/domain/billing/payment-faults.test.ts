/** What goes wrong around payments: copies, vendors that are down for long, and subscriptions at vendors that nobody here would know of. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { HOLD_KEY, RELEASED_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { disableCustomer, enableCustomer } from '../../../src/domain/accounts/set-customer-status.ts';
import { chargeIntent } from '../../../src/domain/billing/saved-methods/charge-intent.ts';
import { closeGateway } from '../../../src/domain/billing/payments/close-gateway.ts';
import { closePayments } from '../../../src/domain/billing/payments/close-payments.ts';
import { paymentMethods } from '../../../src/domain/billing/saved-methods/list-methods.ts';
import { removePaymentMethod } from '../../../src/domain/billing/saved-methods/remove-method.ts';
import { sealMethod } from '../../../src/domain/billing/gateways/gateway-secrets.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { deleteGateway } from '../../../src/domain/billing/gateways/delete-gateway.ts';
import { paymentMail } from '../../../src/domain/billing/saved-methods/payment-mail.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { createRemote } from '../../../src/domain/billing/remote/create-remote.ts';
import { startRemoteSubscription } from '../../../src/domain/billing/remote/start-remote.ts';
import { withdrawRemotesOf } from '../../../src/domain/billing/remote/withdraw-remotes.ts';
import { retryCharges } from '../../../src/domain/billing/saved-methods/retry-charges.ts';
import { refreshInvoice, syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { hasSomethingToSend } from '../../../src/domain/installation/place-read-model.ts';
import { queuedJobs } from '../../../src/jobs/queue-internals-store.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { invoicesOf, openBillingWorld, subscriptionsOf } from '../../support/billing-world.ts';
import { gatewayScene } from '../../support/gateway-scene.ts';
import { PayVendor } from '../../support/pay-gateway.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

let vendor = new RemoteVendor();
let payVendor = new PayVendor();
const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin } = world;
const scene = await remoteScene(world, () => vendor);
const cards = await gatewayScene(world, () => payVendor);
const { system, at, linkPlans, dueCustomer, begin, subscriber, cardHolder, remotesOf, runJobs, pass, forget } = scene;

beforeEach(async () => {
  vendor = new RemoteVendor();
  payVendor = new PayVendor();
  at('2026-03-01T10:00:00Z');
  await forget();
  await cards.nothingDue();
  await world.rows(sql`DELETE FROM payment_method`);
  await world.rows(sql`DELETE FROM setting WHERE key LIKE 'installation.%'`);
  await world.rows(sql`SELECT graphile_worker.complete_jobs(ARRAY(SELECT id FROM graphile_worker.jobs))::text AS done`);
});

const present = async (id: bigint) => (await subscriptionsOf(world, id)).at(-1);

type CardHolder = Awaited<ReturnType<typeof cardHolder>>;

const start = ({ ctx, due }: CardHolder) =>
  startRemoteSubscription(ctx, { invoiceUid: due.uid, gatewayUid: scene.gateway.uid });
const triesOf = ({ id }: { readonly id: bigint }) =>
  world.rows<{ uid: string; status: string }>(
    sql`SELECT uid, status FROM payment_intent WHERE customer_id = ${id} AND method_id IS NOT NULL ORDER BY id`,
  );
const release = (moment: string) =>
  world.rows(
    sql`INSERT INTO setting (key, value) VALUES (${RELEASED_KEY}, ${JSON.stringify({ at: moment })}::jsonb)
        ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`,
  );
const cancels = () =>
  world.rows<{ id: string }>(sql`
    SELECT j.payload ->> 'remoteId' AS id FROM ${queuedJobs} j WHERE j.name = 'billing.cancel-remote-subscription' AND NOT j.is_given_up`);

test('subscriptions at vendors alone put a copy on hold, and checkouts that may begin one', async () => {
  await linkPlans();
  expect(await hasSomethingToSend(admin.db)).toBe(false);
  const customer = await dueCustomer();
  const checkout = await begin(customer);
  expect(await hasSomethingToSend(admin.db)).toBe(true);
  vendor.pay(checkout.id);
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  await world.rows(sql`SELECT graphile_worker.complete_jobs(ARRAY(SELECT id FROM graphile_worker.jobs))::text AS done`);
  expect(await hasSomethingToSend(admin.db)).toBe(true);
  await world.rows(sql`UPDATE remote_subscription SET is_ended = true`);
  expect(await hasSomethingToSend(admin.db)).toBe(false);
});

test('a released copy begins no second subscription: it takes what the original has begun, or leaves it to the original', async () => {
  const first = await cardHolder();
  const { uid: begun } = await start(first);
  // The original does it after the copy was made.
  vendor.keep({ intentUid: begun, planId: 'p_small' });
  await release('2026-03-01T12:00:00Z');
  at('2026-03-01T12:05:00Z');
  await createRemote(system, { intentUid: begun });
  expect(vendor.subscriptions).toHaveLength(1);
  expect(vendor.calls).not.toContain('create');
  expect(await present(first.id)).toMatchObject({ status: 'active' });
  expect((await remotesOf(first.id)).map(({ isEnded }) => isEnded)).toEqual([false]);

  at('2026-03-01T10:00:00Z');
  const second = await cardHolder();
  const { uid: waiting } = await start(second);
  at('2026-03-01T12:05:00Z');
  await createRemote(system, { intentUid: waiting });
  expect(vendor.calls).not.toContain('create');
  expect((await triesOf(second)).map(({ status }) => status)).toEqual(['CANCELLED']);
  expect(await present(second.id)).toMatchObject({ status: 'pending' });
});

test('a job that comes hours late looks first whether the vendor has it', async () => {
  const customer = await cardHolder();
  const { uid: intentUid } = await start(customer);
  vendor.keep({ intentUid, planId: 'p_small' });
  at('2026-03-01T13:30:00Z');
  await createRemote(system, { intentUid });
  expect(vendor.subscriptions).toHaveLength(1);
  expect(await present(customer.id)).toMatchObject({ status: 'active' });
});

test('a saved card whose vendor was down all day is charged another day, and the customer is told', async () => {
  const customer = await cards.customerWithCard();
  at('2026-04-01T10:00:00Z');
  await renewSubscriptions(system);
  const [first] = await triesOf(customer);
  // All tries of the job have failed. A day later nothing was begun.
  at('2026-04-02T10:05:00Z');
  await syncPayments(system);
  expect((await triesOf(customer)).map(({ status }) => status)).toEqual(['CANCELLED']);
  const mails = await paymentMail(system, { customerId: customer.id, intentUid: first?.uid ?? '' });
  expect(mails).toHaveLength(1);
  expect(
    await world.rows(
      sql`SELECT 1 AS one FROM ${queuedJobs} j WHERE j.name = 'billing.payment-mail' AND j.payload ->> 'intentUid' = ${first?.uid}`,
    ),
  ).toHaveLength(1);
  at('2026-04-04T10:05:00Z');
  await retryCharges(system);
  expect(await triesOf(customer)).toHaveLength(2);
});

test('a saved card is not charged again for a subscription that its vendor was asked for and may have begun', async () => {
  const customer = await cardHolder();
  const first = await start(customer);
  vendor.failures.set('after create', new GatewayError('unavailable', 'The answer was lost.'));
  await expect(createRemote(system, { intentUid: first.uid })).rejects.toThrow('lost');
  // Its invoice is that of a renewal which was declined before.
  await world.rows(sql`
    UPDATE invoice SET kind = 'renewal', due_at = '2026-03-08T10:00:00Z', next_charge_at = '2026-03-02T10:00:00Z' WHERE uid = ${customer.due.uid}`);
  // Nor does the vendor show it.
  vendor.subscriptions.length = 0;
  at('2026-03-02T10:05:00Z');
  await syncPayments(system);
  expect((await triesOf(customer)).map(({ status }) => status)).toEqual(['CANCELLED']);
  at('2026-03-06T10:05:00Z');
  await retryCharges(system);
  expect(await triesOf(customer)).toHaveLength(1);
});

test('a method that was saved before plugins gave ids is known as the one that pays a vendor’s subscription', async () => {
  const customer = await cardHolder();
  const checkout = await begin(customer);
  vendor.pay(checkout.id);
  vendor.givesIds = true;
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  expect(await remotesOf(customer.id)).toMatchObject([{ isEnded: false, methodTitle: 'Visa' }]);
  const [method] = await paymentMethods(customer.ctx, null);
  expect(method).toMatchObject({ paysRemote: true });
});

test('a declined card that is removed leaves the renewal to the older one', async () => {
  const customer = await cards.customerWithCard();
  const uid = newUid();
  await world.rows(sql`
    INSERT INTO payment_method (customer_id, uid, gateway_id, title, info, sealed_data, digest)
    SELECT ${customer.id}, ${uid}, id, 'Visa', '', ${sealMethod(admin.installation.secret, uid, { card: 'card_2' })}, ${uid}
      FROM payment_gateway WHERE uid = ${cards.gateway.uid}`);
  payVendor.chargeResult = 'FAILED';
  at('2026-04-01T10:00:00Z');
  await renewSubscriptions(system);
  await chargeIntent(system, { intentUid: (await triesOf(customer))[0]?.uid ?? '' });
  await removePaymentMethod(customer.ctx, { uid });
  payVendor.chargeResult = 'SUCCEEDED';
  at('2026-04-02T10:05:00Z');
  await retryCharges(system);
  await chargeIntent(system, { intentUid: (await triesOf(customer))[1]?.uid ?? '' });
  expect((await triesOf(customer)).map(({ status }) => status)).toEqual(['FAILED', 'SUCCEEDED']);
});

test('a gateway is not deleted while its vendor keeps a subscription that it has not shown yet', async () => {
  await linkPlans();
  const customer = await dueCustomer();
  const checkout = await begin(customer);
  vendor.pay(checkout.id);
  vendor.failures.set('get', new GatewayError('unavailable', 'It is down.'));
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  expect(await remotesOf(customer.id)).toEqual([]);
  await expect(deleteGateway(admin, { uid: scene.gateway.uid })).rejects.toMatchObject({
    code: 'PAYMENT_GATEWAY_IN_USE',
  });
});

test('a customer who is deleted pays no subscription on: of a checkout that was not read, or of an answer that was lost', async () => {
  await linkPlans();
  const payer = await dueCustomer();
  const checkout = await begin(payer);
  const kept = vendor.pay(checkout.id);
  await closePayments(system, { customerId: payer.id, isLastTry: false });
  expect(kept?.status).toBe('canceled');

  vendor = new RemoteVendor();
  await forget();
  const holder = await cardHolder();
  const { uid: intentUid } = await start(holder);
  vendor.failures.set('after create', new GatewayError('unavailable', 'The answer was lost.'));
  await expect(createRemote(system, { intentUid })).rejects.toThrow('lost');
  vendor.failures.set('list', new GatewayError('unavailable', 'It is down.'));
  await expect(closePayments(system, { customerId: holder.id, isLastTry: false })).rejects.toThrow('It is down.');
  expect(vendor.subscriptions.map(({ status }) => status)).toEqual(['active']);
  vendor.failures.clear();
  await closePayments(system, { customerId: holder.id, isLastTry: false });
  expect(vendor.subscriptions.map(({ status }) => status)).toEqual(['canceled']);
});

test('a checkout that was paid is read before the saved card is used: the money is taken once', async () => {
  const customer = await cardHolder();
  const checkout = await begin(customer);
  vendor.pay(checkout.id);
  await expect(start(customer)).rejects.toMatchObject({ code: 'INVOICE_NOT_PENDING' });
  expect(vendor.subscriptions.map(({ status, takings }) => [status, takings])).toEqual([['active', 1]]);
  expect(await present(customer.id)).toMatchObject({ status: 'active' });
  expect(await triesOf(customer)).toEqual([]);
});

test('after a decline the saved card rests for some minutes, and an invoice has fifty tries', async () => {
  const customer = await cardHolder();
  vendor.declines = true;
  const { uid: intentUid } = await start(customer);
  await createRemote(system, { intentUid });
  at('2026-03-01T10:09:00Z');
  await expect(start(customer)).rejects.toMatchObject({ code: 'PAYMENT_JUST_DECLINED', retryAfterSeconds: 60 });
  at('2026-03-01T10:10:00Z');
  await createRemote(system, { intentUid: (await start(customer)).uid });
  expect(vendor.calls.filter((call) => call === 'create')).toHaveLength(2);
  await world.rows(sql`
    INSERT INTO payment_intent (customer_id, uid, invoice_id, method, gateway_id, status, amount_minor, currency_code, decided_at, created_at, updated_at)
    SELECT customer_id, substr(md5(n::text), 1, 13), invoice_id, method, gateway_id, 'FAILED', amount_minor, currency_code, decided_at, created_at, updated_at
      FROM payment_intent, generate_series(1, 48) AS n WHERE uid = ${intentUid}`);
  at('2026-03-01T11:00:00Z');
  await expect(start(customer)).rejects.toMatchObject({ code: 'TOO_MANY_PAYMENTS' });
});

test('a disabled customer pays nothing on at vendors: what they keep is cancelled, and ours runs to the end of what is paid', async () => {
  await linkPlans();
  const [gone, back, late] = [await subscriber(), await subscriber(), await dueCustomer()];
  const uidOf = async (id: bigint) =>
    (await world.rows<{ uid: string }>(sql`SELECT uid FROM customer WHERE id = ${id}`))[0]?.uid ?? '';
  const checkout = await begin(late);
  for (const { id } of [gone, back, late]) await disableCustomer(admin, { uid: await uidOf(id) });
  expect(
    await world.rows(sql`SELECT 1 AS one FROM ${queuedJobs} j WHERE j.name = 'billing.withdraw-remotes-of-customer'`),
  ).toHaveLength(3);
  await enableCustomer(admin, { uid: await uidOf(back.id) });
  for (const { id } of [gone, back, late]) await withdrawRemotesOf(system, { customerId: id });
  const ids = async (id: bigint) => (await remotesOf(id)).map((remote) => String(remote.id));
  expect((await cancels()).map(({ id }) => id)).toEqual(await ids(gone.id));
  for (const { id } of [gone, back]) await runJobs(id);
  expect([gone.kept.status, back.kept.status]).toEqual(['canceled', 'active']);
  expect(await present(gone.id)).toMatchObject({ status: 'cancelled', periodEndsAt: new Date('2026-04-01T10:00:00Z') });
  expect(await present(back.id)).toMatchObject({ status: 'active' });

  // Paid at the vendor's page after that: the sync has it cancelled.
  const kept = vendor.pay(checkout.id);
  at('2026-03-01T10:15:00Z');
  await pass();
  expect((await cancels()).map(({ id }) => id)).toContain((await ids(late.id))[0]);
  await runJobs(late.id);
  expect(kept?.status).toBe('canceled');
  expect((await invoicesOf(world, late.id)).map(({ status }) => status)).toEqual(['paid']);
});

test('a disabled customer is not cancelled at the vendor in a copy that is on hold', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  await world.rows(sql`UPDATE customer SET status = 'disabled' WHERE id = ${id}`);
  await world.rows(sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, '{"since": "2026-03-01T10:00:00Z"}')`);
  await withdrawRemotesOf(system, { customerId: id });
  await expect(runJobs(id)).rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' });
  expect(kept.status).toBe('active');
});

// The last one: the others need the gateway.
test('a gateway that is deleted leaves no subscription of a checkout that was paid and not read yet', async () => {
  await linkPlans();
  const customer = await dueCustomer();
  const checkout = await begin(customer);
  await deleteGateway(admin, { uid: scene.gateway.uid });
  const kept = vendor.pay(checkout.id);
  const close = () => closeGateway(system, { gatewayUid: scene.gateway.uid, isLastTry: false });
  const isThere = async () =>
    (await world.rows(sql`SELECT 1 AS one FROM payment_gateway WHERE uid = ${scene.gateway.uid}`)).length === 1;
  // It is paid, but the vendor does not show the subscription now.
  for (const call of ['get', 'list']) vendor.failures.set(call, new GatewayError('unavailable', 'It is down.'));
  await expect(close()).rejects.toThrow('It is down.');
  expect([await isThere(), kept?.status]).toEqual([true, 'active']);
  vendor.failures.delete('list');
  vendor.failures.set('cancel', new GatewayError('unavailable', 'It is down.'));
  await expect(close()).rejects.toThrow('sub_1: It is down.');
  expect(await isThere()).toBe(true);
  vendor.failures.clear();
  await close();
  expect([await isThere(), kept?.status]).toEqual([false, 'canceled']);
});
