/** Subscriptions that begin at a vendor without the customer's browser, with a payment method that was saved there. */
import { beforeEach, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { paymentMethods } from '../../../src/domain/billing/saved-methods/list-methods.ts';
import { createRemote } from '../../../src/domain/billing/remote/create-remote.ts';
import { linkRemotePlan, remotePlans, unlinkRemotePlan } from '../../../src/domain/billing/remote/link-remote-plan.ts';
import { startRemoteSubscription } from '../../../src/domain/billing/remote/start-remote.ts';
import { refreshSubscription } from '../../../src/domain/billing/remote/sync-remotes.ts';
import { removePaymentMethod } from '../../../src/domain/billing/saved-methods/remove-method.ts';
import { refreshInvoice } from '../../../src/domain/billing/payments/sync-payments.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { openBillingWorld, subscriptionsOf } from '../../support/billing-world.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

let vendor = new RemoteVendor();
const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { gateway, system, small, at, dueCustomer, begin, cardHolder, remotesOf, forget } = await remoteScene(
  world,
  () => vendor,
);
const { admin } = world;

beforeEach(async () => {
  vendor = new RemoteVendor();
  at('2026-03-01T10:00:00Z');
  await forget();
});

const present = async (id: bigint) => (await subscriptionsOf(world, id)).at(-1);

type CardHolder = Awaited<ReturnType<typeof cardHolder>>;

const start = ({ ctx, due }: CardHolder) =>
  startRemoteSubscription(ctx, { invoiceUid: due.uid, gatewayUid: gateway.uid });
const stateOfPayment = async (uid: string) =>
  (
    await world.rows<{ status: string; reason: string | null }>(
      sql`SELECT status, reason FROM payment_intent WHERE uid = ${uid}`,
    )
  )[0];

test('without a browser: a saved card begins it, once for many requests and attempts', async () => {
  const customer = await cardHolder();
  const begun = await Promise.all(Array.from({ length: 10 }, () => start(customer)));
  expect(new Set(begun.map(({ uid }) => uid)).size).toBe(1);
  const { uid: intentUid } = await start(customer);
  vendor.failures.set('after create', new GatewayError('unavailable', 'The answer was lost.'));
  await expect(createRemote(system, { intentUid })).rejects.toThrow('The answer was lost.');
  vendor.failures.clear();
  // The vendor has forgotten the key: what the attempt before has made is found by its intent.
  vendor.forgetKeys();
  await Promise.all([createRemote(system, { intentUid }), createRemote(system, { intentUid })]);
  await createRemote(system, { intentUid });
  expect(vendor.subscriptions).toHaveLength(1);
  expect(await stateOfPayment(intentUid)).toMatchObject({ status: 'SUCCEEDED' });
  expect(await present(customer.id)).toMatchObject({
    status: 'active',
    periodEndsAt: new Date('2026-04-01T10:00:00Z'),
  });
  expect(await remotesOf(customer.id)).toMatchObject([{ isEnded: false, methodTitle: 'Visa' }]);
});

test('without a browser: a decline and a vendor with a hosted checkout only fail with a sentence, and the page can be used', async () => {
  const customer = await cardHolder();
  vendor.declines = true;
  const declined = await start(customer);
  await createRemote(system, { intentUid: declined.uid });
  expect(await stateOfPayment(declined.uid)).toEqual({ status: 'FAILED', reason: 'The card was declined.' });
  vendor.hostedOnly = true;
  // A card that was declined rests for some minutes.
  at('2026-03-01T10:10:00Z');
  const hosted = await start(customer);
  await createRemote(system, { intentUid: hosted.uid });
  expect(await stateOfPayment(hosted.uid)).toMatchObject({ reason: expect.stringContaining('only on its own page') });
  const kept = vendor.pay((await begin(customer)).id);
  await refreshInvoice(customer.ctx, { uid: customer.due.uid });
  expect(await present(customer.id)).toMatchObject({ status: 'active' });
  expect(kept?.status).toBe('active');
});

test('removing the card that pays it warns of that, here and before; a card that pays nothing there does not', async () => {
  // The first one paid before plans were linked.
  const [other, customer] = [await cardHolder(), await cardHolder()];
  const { uid: intentUid } = await start(customer);
  await createRemote(system, { intentUid });
  const [card] = await paymentMethods(customer.ctx, null);
  const [free] = await paymentMethods(other.ctx, null);
  expect([card, free]).toMatchObject([{ paysRemote: true }, { paysRemote: false }]);
  expect(await removePaymentMethod(other.ctx, { uid: free?.uid ?? '' })).toMatchObject({ warning: null });
  expect(await removePaymentMethod(customer.ctx, { uid: card?.uid ?? '' })).toMatchObject({
    warning: expect.stringContaining('cannot take the money for its next period'),
  });
});

test('without a browser: refused without a saved card, for an unlinked plan, and for another customer', async () => {
  const customer = await cardHolder();
  const other = await dueCustomer();
  await expect(
    startRemoteSubscription(other.ctx, { invoiceUid: other.due.uid, gatewayUid: gateway.uid }),
  ).rejects.toMatchObject({
    code: 'PAYMENT_METHOD_MISSING',
  });
  await expect(start({ ...customer, ctx: other.ctx })).rejects.toThrow('No invoice has this uid.');
  await expect(refreshSubscription(other.ctx, { uid: (await present(customer.id))?.uid ?? '' })).rejects.toThrow(
    'No subscription has this uid.',
  );
  await unlinkRemotePlan(admin, { gatewayUid: gateway.uid, planUid: small.uid });
  await expect(start(customer)).rejects.toMatchObject({ code: 'REMOTE_SUBSCRIPTION_NOT_POSSIBLE' });
  for (const act of [linkRemotePlan, unlinkRemotePlan, remotePlans])
    await expect(
      act(customer.ctx, { gatewayUid: gateway.uid, planUid: small.uid, remotePlanId: 'p_small' }),
    ).rejects.toThrow();
});
