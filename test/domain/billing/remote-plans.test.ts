/** Plans of a vendor are linked with ours by an administrator, when they cost the same. */
import { expect, test } from 'vitest';
import { linkRemotePlan, remotePlans, unlinkRemotePlan } from '../../../src/domain/billing/remote/link-remote-plan.ts';
import { updatePlan } from '../../../src/domain/billing/plans/update-plan.ts';
import { GatewayError } from '../../../src/plugin-api/index.ts';
import { openBillingWorld } from '../../support/billing-world.ts';
import { remoteScene } from '../../support/remote-scene.ts';
import { RemoteVendor } from '../../support/remote-vendor.ts';

const world = await openBillingWorld('2026-03-01T10:00:00Z');
const { admin } = world;
const vendor = new RemoteVendor();
const { gateway, small } = await remoteScene(world, () => vendor);

const link = (planUid: string, remotePlanId: string) =>
  linkRemotePlan(admin, { gatewayUid: gateway.uid, planUid, remotePlanId });

test('a plan is linked with a plan of the vendor; what differs is refused and named; unlinking ends it', async () => {
  vendor.addPlan('p_same', 1_000n);
  vendor.addPlan('p_dear', 1_200n);
  vendor.addPlan('p_yen', 1_000n, { currencyCode: 'JPY' });
  vendor.addPlan('p_year', 1_000n, { frequencyUnit: 'year' });
  await expect(link(small.uid, 'p_none')).rejects.toMatchObject({ code: 'REMOTE_PLAN_UNKNOWN' });
  const fields = (message: string) => ({ code: 'REMOTE_PLAN_DIFFERS', fields: { remotePlanId: [message] } });
  await expect(link(small.uid, 'p_dear')).rejects.toMatchObject(
    fields('The amount differs: 10.00 EUR here, 12.00 EUR at the vendor.'),
  );
  await expect(link(small.uid, 'p_yen')).rejects.toMatchObject(
    fields('The currency differs: EUR here, JPY at the vendor.'),
  );
  await expect(link(small.uid, 'p_year')).rejects.toMatchObject(
    fields('The period differs: 1 month here, 1 year at the vendor.'),
  );
  await link(small.uid, 'p_same');
  const twin = await world.newPlan('10');
  await expect(link(twin.uid, 'p_same')).rejects.toMatchObject({ code: 'REMOTE_PLAN_TAKEN' });
  const listed = await remotePlans(admin, { gatewayUid: gateway.uid });
  expect(listed.map(({ id, linkedPlanId }) => [id, linkedPlanId])).toEqual([
    ['p_same', small.id],
    ['p_dear', null],
    ['p_yen', null],
    ['p_year', null],
  ]);
  await expect(updatePlan(admin, { uid: small.uid, price: '11' })).rejects.toMatchObject({
    code: 'REMOTE_PLAN_LINKED',
  });
  await updatePlan(admin, { uid: small.uid, price: '10', name: 'Small' });
  await unlinkRemotePlan(admin, { gatewayUid: gateway.uid, planUid: small.uid });
  await expect(unlinkRemotePlan(admin, { gatewayUid: gateway.uid, planUid: small.uid })).rejects.toMatchObject({
    code: 'REMOTE_PLAN_NOT_LINKED',
  });
  vendor.failures.set('plans', new GatewayError('unavailable', 'It is down.'));
  await expect(link(small.uid, 'p_same')).rejects.toThrow('The vendor could not be asked. It is down.');
});
