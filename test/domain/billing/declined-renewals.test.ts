/** A declined renewal is charged again within the days of grace: when, how often, and who is told. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { HOLD_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { disableCustomer, enableCustomer } from '../../../src/domain/accounts/set-customer-status.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { chargeIntent } from '../../../src/domain/billing/saved-methods/charge-intent.ts';
import { nextChargeTime } from '../../../src/domain/billing/saved-methods/charge-schedule.ts';
import { claimPayment, recordPayment, rejectPayment } from '../../../src/domain/billing/invoices/pay-invoice.ts';
import { paymentMail } from '../../../src/domain/billing/saved-methods/payment-mail.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { retryCharges } from '../../../src/domain/billing/saved-methods/retry-charges.ts';
import { refreshInvoice, syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { queuedJobs } from '../../../src/jobs/queue-internals-store.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { invoicesOf, openBillingWorld, subscriptionsOf } from '../../support/billing-world.ts';
import { gatewayScene } from '../../support/gateway-scene.ts';
import { PayVendor } from '../../support/pay-gateway.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin, setClock: at } = world;
let vendor = new PayVendor();
const { system, dueCustomer, begin, ...scene } = await gatewayScene(world, () => vendor);
type Due = Awaited<ReturnType<typeof dueCustomer>>;

beforeEach(async () => {
  vendor = new PayVendor();
  vendor.chargeResult = 'FAILED';
  at('2026-03-01T10:00:00Z');
  await scene.nothingDue();
});

/** Its renewal was written on 1 April, and its card charged. */
async function renewed() {
  const customer = await scene.customerWithCard();
  at('2026-04-01T10:00:00Z');
  await renewSubscriptions(system);
  const due = (await invoicesOf(world, customer.id)).at(-1) ?? customer.due;
  await chargeNow(customer);
  return { ...customer, due };
}

/** As the job of the charge that was begun last. */
async function chargeNow({ id }: Pick<Due, 'id'>) {
  await chargeIntent(system, { intentUid: (await triesOf({ id })).at(-1)?.uid ?? '' });
}

/** The time has come: the program begins what is due and charges it. */
async function tryAt(moment: string, customer: Pick<Due, 'id'>) {
  at(moment);
  const { begun } = await retryCharges(system);
  if (begun > 0) await chargeNow(customer);
  return begun;
}

function triesOf({ id }: Pick<Due, 'id'>) {
  return world.rows<{ uid: string; status: string; reference: string }>(
    sql`SELECT uid, status, reference FROM payment_intent WHERE customer_id = ${id} AND method_id IS NOT NULL ORDER BY id`,
  );
}

async function nextOf({ id }: Pick<Due, 'id'>): Promise<string | null> {
  const [row] = await world.rows<{ next: Date | null }>(
    sql`SELECT next_charge_at AS next FROM invoice WHERE customer_id = ${id} ORDER BY id DESC LIMIT 1`,
  );
  return row?.next?.toISOString().slice(0, 16) ?? null;
}

/** Mails that the latest try has led to, as the job makes them. */
async function mailsOf({ id }: Pick<Due, 'id'>) {
  const intentUid = (await triesOf({ id })).at(-1)?.uid ?? '';
  const jobs = await world.rows<{ key: string }>(
    sql`SELECT j.key FROM ${queuedJobs} j WHERE j.name = 'billing.payment-mail' AND j.payload ->> 'intentUid' = ${intentUid}`,
  );
  return { jobs: jobs.length, mails: await paymentMail(system, { customerId: id, intentUid }) };
}

test('it is tried again after 1, 3 and 5 days, each time as a payment of its own; the customer is told why, when and how to pay', async () => {
  const customer = await renewed();
  const seen: (string | null)[] = [await nextOf(customer)];
  const { jobs, mails } = await mailsOf(customer);
  expect([jobs, mails.length]).toEqual([1, 1]);
  expect(mails[0]?.subject).toContain('was not successful');
  const text = mails[0]?.paragraphs.join('\n') ?? '';
  expect(text).toContain('We could not charge 10.00 EUR to Visa (ends in 4242)');
  expect(text).toContain('The reason: The card was declined.');
  expect(text).toContain('We try again on 2026-04-02, 10:00 UTC.');
  expect(text).toMatch(/Pay now: http:\/\/mail\.test\/checkout\/offline\/\S+/);
  expect(text).toContain('not paid by 2026-04-08, 10:00 UTC');
  expect(await tryAt('2026-04-02T09:59:59Z', customer)).toBe(0);
  for (const moment of ['2026-04-02T10:00:00Z', '2026-04-04T10:02:00Z', '2026-04-06T10:04:00Z']) {
    expect(await tryAt(moment, customer)).toBe(1);
    seen.push(await nextOf(customer));
    expect((await mailsOf(customer)).jobs).toBe(1);
  }
  expect(seen).toEqual(['2026-04-02T10:00', '2026-04-04T10:00', '2026-04-06T10:00', null]);
  expect((await mailsOf(customer)).mails[0]?.paragraphs).toContain('We do not try again by ourselves.');
  expect(await tryAt('2026-04-08T09:00:00Z', customer)).toBe(0);
  const tries = await triesOf(customer);
  expect(tries.map(({ status }) => status)).toEqual(['FAILED', 'FAILED', 'FAILED', 'FAILED']);
  expect(new Set(tries.map(({ reference }) => reference)).size).toBe(4);
  expect(tries.map(({ reference }) => vendor.objects.get(reference)?.charges)).toEqual([1, 1, 1, 1]);
  at('2026-04-08T10:00:01Z');
  await renewSubscriptions(system);
  expect(await subscriptionsOf(world, customer.id)).toMatchObject([{ status: 'ended' }]);
});

test('a try that succeeds pays the invoice, and nothing is tried or mailed after that', async () => {
  const customer = await renewed();
  const [first] = await triesOf(customer);
  vendor.chargeResult = 'SUCCEEDED';
  expect(await tryAt('2026-04-02T10:00:00Z', customer)).toBe(1);
  expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ status: 'paid' });
  expect(await nextOf(customer)).toBeNull();
  // The mail about the first try, if its job comes so late.
  expect(await paymentMail(system, { customerId: customer.id, intentUid: first?.uid ?? '' })).toEqual([]);
  expect(await tryAt('2026-04-04T10:00:00Z', customer)).toBe(0);
});

test('twenty processes at once begin one try', async () => {
  const customer = await renewed();
  at('2026-04-02T10:00:00Z');
  const runs = await Promise.all(Array.from({ length: 20 }, () => retryCharges(system)));
  expect(runs.reduce((sum, { begun }) => sum + begun, 0)).toBe(1);
  expect(await triesOf(customer)).toHaveLength(2);
});

test.each<[string, () => void]>([
  ['the vendor says that it is one', () => (vendor.declinesForEver = true)],
  [
    'the vendor refuses to prepare it',
    () => vendor.failures.set('create', new GatewayError('refused', 'No such card.')),
  ],
  ['the vendor refuses to charge it', () => vendor.failures.set('charge', new GatewayError('refused', 'Closed.'))],
])('a permanent refusal is not tried again: %s', async (_name, prepare) => {
  const customer = await scene.customerWithCard();
  prepare();
  at('2026-04-01T10:00:00Z');
  await renewSubscriptions(system);
  await chargeNow(customer);
  expect(await triesOf(customer)).toMatchObject([{ status: 'FAILED' }]);
  expect(await nextOf(customer)).toBeNull();
  expect((await mailsOf(customer)).mails[0]?.paragraphs).toContain('We do not try again by ourselves.');
  expect(await tryAt('2026-04-03T10:00:00Z', customer)).toBe(0);
});

test('a challenge of the bank is mailed and waits for the page', async () => {
  vendor.chargeResult = 'REQUIRES_ACTION';
  const customer = await renewed();
  expect(await nextOf(customer)).toBeNull();
  const { mails } = await mailsOf(customer);
  expect(mails).toHaveLength(1);
  expect(mails[0]?.subject).toContain('asks you to confirm');
  expect(await tryAt('2026-04-03T10:00:00Z', customer)).toBe(0);
  (await begin(customer)).object.status = 'SUCCEEDED';
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ status: 'paid' });
});

test('no try is made beside a checkout that is open; it comes when that has ended', async () => {
  const customer = await renewed();
  at('2026-04-02T09:00:00Z');
  const { object } = await begin(customer);
  expect(await tryAt('2026-04-02T10:00:00Z', customer)).toBe(0);
  expect(await nextOf(customer)).toBe('2026-04-02T11:00');
  object.status = 'CANCELLED';
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  vendor.chargeResult = 'SUCCEEDED';
  expect(await tryAt('2026-04-02T11:00:00Z', customer)).toBe(1);
  expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ status: 'paid' });
});

/** Its renewal was written on 1 April, and nobody has asked the vendor to charge its card yet. */
async function unbegun() {
  at('2026-03-01T10:00:00Z');
  const customer = await scene.customerWithCard();
  at('2026-04-01T10:00:00Z');
  await renewSubscriptions(system);
  return { ...customer, due: (await invoicesOf(world, customer.id)).at(-1) ?? customer.due };
}

test('a checkout takes the place of a charge that had not begun; who leaves it is charged a day later', async () => {
  vendor.chargeResult = 'SUCCEEDED';
  const customer = await unbegun();
  const { object } = await begin(customer);
  await chargeNow(customer);
  expect(await triesOf(customer)).toMatchObject([{ status: 'CANCELLED', reference: null }]);
  expect(await nextOf(customer)).toBe('2026-04-02T10:00');
  object.status = 'CANCELLED';
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  expect(await tryAt('2026-04-02T10:00:00Z', customer)).toBe(1);
  expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ status: 'paid' });
});

test('who pays at such a checkout is not charged; nor is who has reported a transfer, until that is rejected', async () => {
  vendor.chargeResult = 'SUCCEEDED';
  const [paid, claimed] = [await unbegun(), await unbegun()];
  (await begin(paid)).object.status = 'SUCCEEDED';
  await refreshInvoice(paid.ctx, { uid: paid.due.uid });
  const { uid } = await claimPayment(claimed.ctx, { invoiceUid: claimed.due.uid });
  expect(await tryAt('2026-04-02T10:00:00Z', claimed)).toBe(0);
  expect(await nextOf(claimed)).toBe('2026-04-02T11:00');
  await rejectPayment(admin, { uid });
  expect(await tryAt('2026-04-02T11:00:00Z', claimed)).toBe(1);
  for (const { id } of [paid, claimed]) expect((await invoicesOf(world, id)).at(-1)).toMatchObject({ status: 'paid' });
  expect(await triesOf(paid)).toMatchObject([{ status: 'CANCELLED' }]);
});

test('an invoice that was paid in another way is not tried again', async () => {
  const customer = await renewed();
  await recordPayment(admin, { invoiceUid: customer.due.uid });
  expect(await nextOf(customer)).toBeNull();
  expect(await tryAt('2026-04-02T10:00:00Z', customer)).toBe(0);
});

test('a disabled customer is not charged, and is when it is enabled within the days of grace', async () => {
  const customer = await renewed();
  await disableCustomer(admin, { uid: customer.uid });
  expect((await mailsOf(customer)).mails).toEqual([]);
  expect(await tryAt('2026-04-02T10:00:00Z', customer)).toBe(0);
  await enableCustomer(admin, { uid: customer.uid });
  vendor.chargeResult = 'SUCCEEDED';
  expect(await tryAt('2026-04-02T11:00:00Z', customer)).toBe(1);
});

test('nothing is tried while the installation is on hold', async () => {
  const customer = await renewed();
  await admin.db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, '{"since": "2026-04-01T10:00:00Z"}')`,
  );
  try {
    expect(await tryAt('2026-04-02T10:00:00Z', customer)).toBe(0);
  } finally {
    await admin.db.execute(sql`DELETE FROM setting WHERE key = ${HOLD_KEY}`);
  }
  expect(await triesOf(customer)).toHaveLength(1);
});

test('a charge that was never confirmed is cancelled after a day, and is tried again', async () => {
  const customer = await scene.customerWithCard();
  at('2026-04-01T10:00:00Z');
  await renewSubscriptions(system);
  vendor.failures.set('charge', new GatewayError('unavailable', 'It is down.'));
  await expect(chargeNow(customer)).rejects.toThrow('down');
  vendor.failures.clear();
  at('2026-04-02T10:00:01Z');
  await syncPayments(system);
  expect(await triesOf(customer)).toMatchObject([{ status: 'CANCELLED' }]);
  expect(await nextOf(customer)).toBe('2026-04-04T10:00');
});

test('a card that is saved meanwhile is tried at once', async () => {
  const weekly = await world.newPlan('10', { frequencyUnit: 'week' });
  const customer = await dueCustomer(weekly.uid);
  // A checkout that the customer leaves for another plan, and pays at the vendor a week later.
  const { object: left } = await begin(customer);
  const other = await world.newPlan('12', { frequencyUnit: 'week' });
  const { due } = await changePlan(customer.ctx, { planUid: other.uid });
  const { object } = await begin({ ...customer, due: { uid: due?.uid ?? '' } });
  Object.assign(object, { status: 'SUCCEEDED', saves: true });
  await refreshInvoice(customer.ctx, { uid: due?.uid ?? '' });
  at('2026-03-08T10:00:00Z');
  await renewSubscriptions(system);
  await chargeNow(customer);
  // Less than the renewal: what came late does not pay it.
  expect(await nextOf(customer)).toBe('2026-03-09T10:00');
  Object.assign(left, { status: 'SUCCEEDED', saves: true, card: 'card_2' });
  at('2026-03-08T20:00:00Z');
  await syncPayments(system);
  expect(await nextOf(customer)).toBe('2026-03-08T20:00');
  vendor.chargeResult = 'SUCCEEDED';
  expect(await tryAt('2026-03-08T20:02:00Z', customer)).toBe(1);
  const methods = await world.rows<{ id: bigint }>(
    sql`SELECT method_id AS id FROM payment_intent WHERE customer_id = ${customer.id} AND method_id IS NOT NULL`,
  );
  expect(new Set(methods.map(({ id }) => id)).size).toBe(2);
  expect((await invoicesOf(world, customer.id)).at(-1)).toMatchObject({ status: 'paid' });
});

const HOUR_MS = 3_600_000;
test.each([
  { graceHours: 0, tries: [] },
  { graceHours: 12, tries: [] },
  { graceHours: 24, tries: [12] },
  { graceHours: 48, tries: [24, 36] },
  { graceHours: 96, tries: [24, 72, 84] },
  { graceHours: 168, tries: [24, 72, 120] },
  { graceHours: 24 * 60, tries: [24, 72, 120] },
])('with $graceHours hours of grace the tries are after $tries hours', ({ graceHours, tries }) => {
  const createdAt = new Date('2026-04-01T10:00:00Z');
  const dueAt = new Date(createdAt.getTime() + graceHours * HOUR_MS);
  const found: number[] = [];
  for (let now: Date | null = createdAt; now !== null;) {
    now = nextChargeTime({ createdAt, dueAt }, now);
    if (now) found.push((now.getTime() - createdAt.getTime()) / HOUR_MS);
  }
  expect(found).toEqual(tries);
});
