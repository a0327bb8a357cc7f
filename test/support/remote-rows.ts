/** The state that rows of a vendor's plans and subscriptions take: the gateway of the world has a vendor that keeps subscriptions. */
import { sql } from '../../src/db/database.ts';
import { RemoteVendor, useRemoteVendor } from './remote-vendor.ts';
import type { RestApp } from './rest-app.ts';

/** The vendor's plan, which costs what the plans of a world cost. */
export const REMOTE_PLAN = 'p_small';

const vendor = new RemoteVendor();
vendor.addPlan(REMOTE_PLAN, 1_000n);
const known = new WeakSet<object>();

export async function letVendorKeep(
  app: RestApp,
  world: { readonly gatewayUid: string; readonly planUid: string; readonly invoiceUid: string },
  { isLinked }: { readonly isLinked: boolean },
): Promise<void> {
  const { hooks } = app;
  const { db } = app.ctx;
  if (!known.has(hooks)) useRemoteVendor(hooks, () => vendor);
  known.add(hooks);
  await db.execute(sql`UPDATE payment_gateway SET type = 'acme-subs' WHERE uid = ${world.gatewayUid}`);
  // The invoice of a world is for another plan than the one that is changed: a vendor's plan is linked with one.
  if (isLinked)
    for (const [plan, remoteId] of [
      [sql`p.uid = ${world.planUid}`, 'p_other'],
      [sql`p.id = (SELECT plan_id FROM invoice WHERE uid = ${world.invoiceUid})`, REMOTE_PLAN],
    ] as const)
      await db.execute(sql`
        INSERT INTO remote_plan_link (plan_id, gateway_id, remote_plan_id, remote_name)
        SELECT p.id, g.id, ${remoteId}, 'Small' FROM plan p, payment_gateway g WHERE ${plan} AND g.uid = ${world.gatewayUid}
        ON CONFLICT DO NOTHING`);
}
