/** Subscriptions that a vendor keeps: its plans are linked, its periods are counted once, its ends and ours follow each other. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { HOLD_KEY } from '../../../src/domain/accounts/installation-hold-read-model.ts';
import { changePlan } from '../../../src/domain/billing/subscriptions/change-plan.ts';
import { closePayments } from '../../../src/domain/billing/payments/close-payments.ts';
import {
  cancelSubscription,
  resumeSubscription,
  terminateSubscription,
} from '../../../src/domain/billing/subscriptions/control-subscription.ts';
import { deleteGateway } from '../../../src/domain/billing/gateways/delete-gateway.ts';
import { renewSubscriptions } from '../../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { cancelRemote } from '../../../src/domain/billing/remote/cancel-remote.ts';
import { startRemoteSubscription } from '../../../src/domain/billing/remote/start-remote.ts';
import { linkRemotePlan, unlinkRemotePlan } from '../../../src/domain/billing/remote/link-remote-plan.ts';
import { refreshSubscription } from '../../../src/domain/billing/remote/sync-remotes.ts';
import { startPayment } from '../../../src/domain/billing/payments/start-payment.ts';
import { syncPayments } from '../../../src/domain/billing/payments/sync-payments.ts';
import { updateSubscription } from '../../../src/domain/billing/subscriptions/update-subscription.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import {
  creditOf,
  eventsOf,
  historyOf,
  invoicesOf,
  openBillingWorld,
  subscriptionsOf,
} from '../../support/billing-world.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin } = world;
let vendor = new RemoteVendor();
const scene = await remoteScene(world, () => vendor);
const {
  gateway,
  system,
  small,
  large,
  at,
  linkPlans,
  dueCustomer,
  begin,
  subscriber,
  remotesOf,
  runJobs,
  pass,
  forget,
} = scene;

beforeEach(async () => {
  vendor = new RemoteVendor();
  at('2026-03-01T10:00:00Z');
  await forget();
});

const link = (planUid: string, remotePlanId: string) =>
  linkRemotePlan(admin, { gatewayUid: gateway.uid, planUid, remotePlanId });
const paidRenewals = async (id: bigint) =>
  (await invoicesOf(world, id)).filter(({ kind, status }) => kind === 'renewal' && status === 'paid').length;
const present = async (id: bigint) => (await subscriptionsOf(world, id)).at(-1);
const endOf = async (id: bigint) => (await present(id))?.periodEndsAt?.toISOString();
const walkError = async () =>
  (
    await world.rows<{ error: string | null }>(
      sql`SELECT walk_error AS error FROM payment_gateway WHERE id = ${gateway.id}`,
    )
  )[0]?.error;
const unknown = () =>
  world.rows<{ remoteId: string }>(
    sql`SELECT remote_id AS "remoteId" FROM unknown_remote_subscription ORDER BY remote_id`,
  );

test('the first invoice begins a subscription at the vendor, which is known at once; an unlinked plan is a single payment', async () => {
  await linkPlans();
  const customer = await subscriber();
  expect(await present(customer.id)).toMatchObject({
    status: 'active',
    periodEndsAt: new Date('2026-04-01T10:00:00Z'),
  });
  expect(await remotesOf(customer.id)).toMatchObject([
    { remoteId: customer.kept.id, paidUntil: new Date('2026-04-01T10:00:00Z'), methodTitle: 'Visa', error: null },
  ]);
  await unlinkRemotePlan(admin, { gatewayUid: gateway.uid, planUid: small.uid });
  const other = await dueCustomer();
  const checkout = await begin(other);
  expect(checkout.intent.remotePlanId).toBeNull();
  expect(vendor.pay(checkout.id)).toBeUndefined();
  expect(await unknown()).toEqual([]);
});

test('a paid period is counted once by many syncs at once, on the invoice of the renewal; the host charges nothing', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  at('2026-04-01T10:05:00Z');
  await renewSubscriptions(system);
  expect(await paidRenewals(id)).toBe(0);
  expect((await invoicesOf(world, id)).map(({ kind }) => kind)).toEqual(['start']);
  vendor.renew(kept);
  at('2026-04-01T11:00:00Z');
  await Promise.all(Array.from({ length: 20 }, () => pass()));
  expect(await paidRenewals(id)).toBe(1);
  expect(await endOf(id)).toBe('2026-05-01T10:00:00.000Z');
  expect(await eventsOf(world, id)).toEqual(['created', 'started', 'renewed']);
  expect(await creditOf(world, id)).toBe(0n);
  const payments = await world.rows<{ status: string; note: string }>(
    sql`SELECT status, note FROM payment_intent WHERE customer_id = ${id} ORDER BY id`,
  );
  expect(payments.map(({ status }) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  expect(payments[1]?.note).toContain(kept.id);
});

test('what happened while the installation was down is found: three periods, each with its invoice', async () => {
  const weekly = await world.newPlan('3', { frequencyUnit: 'week' });
  vendor.addPlan('p_week', 300n, { frequencyUnit: 'week' });
  await link(weekly.uid, 'p_week');
  const customer = await dueCustomer(weekly.uid);
  const kept = vendor.pay((await begin(customer)).id);
  if (!kept) throw new Error('None was begun.');
  vendor.renew(kept);
  vendor.renew(kept);
  at('2026-03-20T10:00:00Z');
  await Promise.all([pass(), pass()]);
  await pass();
  expect(await paidRenewals(customer.id)).toBe(2);
  expect(await endOf(customer.id)).toBe('2026-03-22T10:00:00.000Z');
  expect(kept.takings).toBe(3);
  expect(await present(customer.id)).toMatchObject({ status: 'active' });
});

test('down across the days of grace: what was paid meanwhile is read before the subscription ends', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  at('2026-04-01T10:05:00Z');
  await renewSubscriptions(system);
  vendor.renew(kept);
  at('2026-04-25T10:00:00Z');
  const [row] = await world.rows<{ graceEndsAt: Date }>(
    sql`SELECT grace_ends_at AS "graceEndsAt" FROM subscription WHERE customer_id = ${id}`,
  );
  at(new Date((row?.graceEndsAt.getTime() ?? 0) + 60_000).toISOString());
  await renewSubscriptions(system);
  expect(await present(id)).toMatchObject({ status: 'active' });
  await syncPayments(system);
  expect(await endOf(id)).toBe('2026-05-01T10:00:00.000Z');
});

test('overdue at the vendor: grace here, and paid in time it goes on; never paid, ours ends and the vendor takes no more', async () => {
  await linkPlans();
  const [paid, lost] = [await subscriber(), await subscriber()];
  for (const { kept } of [paid, lost]) vendor.renew(kept, false);
  at('2026-04-01T10:05:00Z');
  await pass();
  for (const { id } of [paid, lost]) expect(await present(id)).toMatchObject({ status: 'active' });
  vendor.settle(paid.kept);
  at('2026-04-02T10:00:00Z');
  await pass();
  expect(await endOf(paid.id)).toBe('2026-05-01T10:00:00.000Z');
  for (const day of ['2026-04-12', '2026-04-20']) {
    at(`${day}T10:00:00Z`);
    await syncPayments(system);
    await renewSubscriptions(system);
  }
  expect(await present(lost.id)).toMatchObject({ status: 'ended' });
  expect((await historyOf(world, lost.id)).at(-1)).toMatchObject({ event: 'ended', note: 'The renewal was not paid.' });
  await runJobs(lost.id);
  expect(lost.kept.status).toBe('canceled');
  expect(paid.kept.status).toBe('active');
});

test('ended at the vendor: ours runs to the end of what is paid, and ends; resumed, it is renewed by an invoice here', async () => {
  await linkPlans();
  const [leaving, staying] = [await subscriber(), await subscriber()];
  for (const { kept } of [leaving, staying]) kept.status = 'canceled';
  at('2026-03-20T10:00:00Z');
  await pass();
  expect(await present(leaving.id)).toMatchObject({ status: 'cancelled', endsAt: new Date('2026-04-01T10:00:00Z') });
  expect((await historyOf(world, leaving.id)).at(-1)).toMatchObject({ note: 'Ended at the vendor (canceled).' });
  await resumeSubscription(staying.ctx, { uid: (await present(staying.id))?.uid ?? '' });
  await pass();
  expect(await present(staying.id)).toMatchObject({ status: 'active' });
  at('2026-04-01T10:05:00Z');
  await pass();
  expect(await present(leaving.id)).toMatchObject({ status: 'ended' });
  expect((await invoicesOf(world, staying.id)).at(-1)).toMatchObject({ kind: 'renewal', status: 'pending' });
});

test('cancelling and terminating ours cancels the vendor’s once; a vendor that fails is asked again, and the operator sees it', async () => {
  await linkPlans();
  const [cancelled, terminated] = [await subscriber(), await subscriber()];
  vendor.failures.set('cancel', new GatewayError('unavailable', 'It is down.'));
  await cancelSubscription(cancelled.ctx, { uid: (await present(cancelled.id))?.uid ?? '' });
  expect(vendor.calls).not.toContain('cancel');
  await expect(runJobs(cancelled.id)).rejects.toThrow('It is down.');
  expect(await remotesOf(cancelled.id)).toMatchObject([
    { isEnded: false, error: 'It could not be cancelled at the vendor: It is down.' },
  ]);
  vendor.failures.clear();
  vendor.failures.set('after cancel', new GatewayError('unavailable', 'The answer was lost.'));
  await expect(runJobs(cancelled.id)).rejects.toThrow('The answer was lost.');
  vendor.failures.clear();
  await runJobs(cancelled.id);
  await runJobs(cancelled.id);
  expect(await remotesOf(cancelled.id)).toMatchObject([{ isEnded: true, error: null }]);
  expect(await present(cancelled.id)).toMatchObject({ status: 'cancelled' });
  await terminateSubscription(admin, { uid: (await present(terminated.id))?.uid ?? '' });
  await runJobs(terminated.id);
  expect(terminated.kept.status).toBe('canceled');
  const jobs = await world.rows<{ name: string }>(sql`
    SELECT task_identifier AS name FROM graphile_worker.jobs WHERE task_identifier = 'billing.cancel-remote-subscription'`);
  expect(jobs.length).toBeGreaterThanOrEqual(2);
});

test('a period that the vendor takes after ours has ended becomes credit, once', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  await cancelSubscription(ctx, { uid: (await present(id))?.uid ?? '' });
  vendor.renew(kept);
  at('2026-04-01T10:05:00Z');
  await pass();
  await Promise.all([syncPayments(system), syncPayments(system)]);
  expect(await creditOf(world, id)).toBe(1_000n);
  expect(await present(id)).toMatchObject({ status: 'ended' });
  expect((await eventsOf(world, id)).filter((event) => event === 'payment_credited')).toHaveLength(1);
});

test('another plan begins with the next period that the vendor takes the money for', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  const { due } = await changePlan(ctx, { planUid: large.uid });
  expect(due).toBeNull();
  expect(kept.planId).toBe('p_small');
  await runJobs(id);
  expect(kept.planId).toBe('p_large');
  await pass();
  expect(await present(id)).toMatchObject({ planId: small.id });
  vendor.renew(kept);
  at('2026-04-01T10:05:00Z');
  await pass();
  await pass();
  expect(await present(id)).toMatchObject({ planId: large.id, periodEndsAt: new Date('2026-05-01T10:00:00Z') });
  expect((await invoicesOf(world, id)).map(({ kind, status, total }) => [kind, status, total])).toEqual([
    ['start', 'paid', 1_000n],
    ['change', 'paid', 2_500n],
  ]);
});

test('a change of plan that the vendor cannot make is refused with what to do; one that waits for the payer is shown', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  const unlinked = await world.newPlan('7');
  await expect(changePlan(ctx, { planUid: unlinked.uid })).rejects.toMatchObject({
    code: 'REMOTE_PLAN_NOT_LINKED',
    message: expect.stringContaining('Cancel the subscription'),
  });
  const yearly = await world.newPlan('90', { frequencyUnit: 'year' });
  vendor.addPlan('p_year', 9_000n, { frequencyUnit: 'year' });
  await link(yearly.uid, 'p_year');
  await expect(changePlan(ctx, { planUid: yearly.uid })).rejects.toMatchObject({ code: 'REMOTE_PERIOD_DIFFERS' });
  vendor.waitsForPayer = true;
  await changePlan(ctx, { planUid: large.uid });
  await runJobs(id);
  expect(await remotesOf(id)).toMatchObject([{ error: expect.stringContaining('the payer must agree') }]);
  await changePlan(ctx, { planUid: small.uid });
  expect((await eventsOf(world, id)).slice(-2)).toEqual(['change_requested', 'change_withdrawn']);
  await expect(changePlan(ctx, { planUid: small.uid })).rejects.toMatchObject({ code: 'PLAN_UNCHANGED' });
  expect(kept.planId).toBe('p_small');
});

test('money that is not the price of the plan counts for nothing, and the operator sees why', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  const plan = vendor.plans.find(({ id: name }) => name === 'p_small');
  Object.assign(plan ?? {}, { amountMinor: 900n });
  vendor.renew(kept);
  at('2026-04-01T10:05:00Z');
  await pass();
  expect(await paidRenewals(id)).toBe(0);
  expect(await remotesOf(id)).toMatchObject([{ error: expect.stringContaining('The vendor got 900 EUR') }]);
});

test('foreign and unknown ones are listed and left alone; the list is walked to its end', async () => {
  await linkPlans();
  const { kept } = await subscriber();
  for (const intentUid of [null, '0123456789abc', null, null]) vendor.keep({ intentUid, planId: 'p_small' });
  vendor.calls.length = 0;
  at('2026-03-01T12:00:00Z');
  await Promise.all([syncPayments(system), syncPayments(system)]);
  expect((await unknown()).map(({ remoteId }) => remoteId)).toEqual(['sub_2', 'sub_3', 'sub_4', 'sub_5']);
  expect(vendor.calls.filter((call) => call === 'list')).toHaveLength(3);
  expect(vendor.calls).not.toContain('cancel');
  vendor.subscriptions.splice(0, 4, kept);
  at('2026-03-01T14:00:00Z');
  await syncPayments(system);
  expect((await unknown()).map(({ remoteId }) => remoteId)).toEqual(['sub_5']);
});

test('a list that repeats a page for ever ends with a clear error; the next walk clears it', async () => {
  await linkPlans();
  await subscriber();
  vendor.loops = true;
  at('2026-03-01T12:00:00Z');
  await syncPayments(system);
  expect(await walkError()).toContain('does not end');
  vendor.loops = false;
  at('2026-03-01T14:00:00Z');
  await syncPayments(system);
  expect(await walkError()).toBeNull();
});

test('a vendor that no longer knows it: ours goes on and is renewed by an invoice here', async () => {
  await linkPlans();
  const { id, ctx } = await subscriber();
  vendor.subscriptions.length = 0;
  at('2026-03-10T10:00:00Z');
  await refreshSubscription(ctx, { uid: (await present(id))?.uid ?? '' });
  at('2026-03-10T11:00:00Z');
  await pass();
  expect(await remotesOf(id)).toMatchObject([{ isEnded: true, error: expect.stringContaining('does not know') }]);
  at('2026-04-01T10:05:00Z');
  await pass();
  expect((await invoicesOf(world, id)).at(-1)).toMatchObject({ kind: 'renewal', status: 'pending' });
});

test('a checkout that was cancelled and paid at the vendor nevertheless: its subscription is cancelled there', async () => {
  await linkPlans();
  const customer = await dueCustomer();
  const checkout = await begin(customer);
  await world.rows(
    sql`UPDATE payment_intent SET status = 'CANCELLED', decided_at = now() WHERE uid = ${checkout.intent.uid}`,
  );
  const kept = vendor.pay(checkout.id);
  at('2026-03-01T12:00:00Z');
  await pass();
  await runJobs(customer.id);
  expect(kept?.status).toBe('canceled');
});

test('on hold nothing is read, begun, changed or cancelled at the vendor', async () => {
  await linkPlans();
  const { id, ctx } = await subscriber();
  const customer = await dueCustomer();
  await cancelSubscription(ctx, { uid: (await present(id))?.uid ?? '' });
  vendor.calls.length = 0;
  await world.rows(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, ${JSON.stringify({ since: '2026-03-01T10:00:00Z', reason: 'x' })}::jsonb)`,
  );
  try {
    at('2026-03-01T12:00:00Z');
    await syncPayments(system);
    await expect(runJobs(id)).rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' });
    const given = { invoiceUid: customer.due.uid, gatewayUid: gateway.uid };
    await expect(startRemoteSubscription(customer.ctx, given)).rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' });
    await expect(startPayment(customer.ctx, given)).rejects.toMatchObject({ code: 'INSTALLATION_ON_HOLD' });
    expect(vendor.calls).toEqual([]);
  } finally {
    await world.rows(sql`DELETE FROM setting WHERE key = ${HOLD_KEY}`);
  }
});

test('a customer who is deleted is cancelled at the vendor; a gateway with live ones is not deleted', async () => {
  await linkPlans();
  const { id, kept } = await subscriber();
  await expect(deleteGateway(admin, { uid: gateway.uid })).rejects.toMatchObject({ code: 'PAYMENT_GATEWAY_IN_USE' });
  await closePayments(system, { customerId: id, isLastTry: false });
  expect(kept.status).toBe('canceled');
});

test('the period of one that the vendor keeps is not moved here; its end and options are set, and the period when it is cancelled', async () => {
  await linkPlans();
  const { id, ctx } = await subscriber();
  const uid = (await present(id))?.uid ?? '';
  const currentPeriodEndsAt = new Date('2026-06-01T10:00:00Z');
  for (const changes of [{ currentPeriodEndsAt }, { frequencyAmount: 2 }, { frequencyUnit: 'week' }])
    await expect(updateSubscription(admin, { uid, ...changes })).rejects.toMatchObject({
      code: 'REMOTE_PERIOD_KEPT',
      message: expect.stringContaining('cancel the subscription here'),
    });
  expect(await endOf(id)).toBe('2026-04-01T10:00:00.000Z');
  await updateSubscription(admin, { uid, endsAt: new Date('2026-12-01T10:00:00Z'), options: { list_max: 3 } });
  await cancelSubscription(ctx, { uid });
  await updateSubscription(admin, { uid, currentPeriodEndsAt });
  expect(await endOf(id)).toBe('2026-06-01T10:00:00.000Z');
});

test('cancelling is not done for a subscription that was resumed before the job ran', async () => {
  await linkPlans();
  const { id, ctx, kept } = await subscriber();
  const uid = (await present(id))?.uid ?? '';
  await cancelSubscription(ctx, { uid });
  await resumeSubscription(ctx, { uid });
  const [row] = await remotesOf(id);
  await cancelRemote(system, { customerId: id, id: row?.id ?? 0n });
  expect(kept.status).toBe('active');
});
