/** A campaign through the driver of a vendor that answers well, badly or not at all; and what must be true of its ledger afterwards. */
import { expect } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { driverOf } from '../../src/domain/sending/try-settings.ts';
import { resetHealth } from '../../src/domain/sending/routing/sending-health-store.ts';
import { sealSecrets } from '../../src/domain/sending/server-secrets.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import type { ApiVendor } from './api-vendor.ts';
import { balanceOf, campaignWorld, copiesByRecipient, untilStatus, type CampaignWorld } from './campaign-world.ts';

export interface VendorCampaign {
  readonly vendor: ApiVendor;
  readonly type: string;
  readonly recipients: number;
  /** Else one that all vendors know. */
  readonly fromEmail?: string;
  /** What stands before the vendor; absent: nothing. */
  readonly endpoint?: string;
  /** What becomes of messages whose outcome nobody knows. */
  readonly policy?: 'park' | 'retry';
}

/** A tenant with a campaign whose server is the vendor's. */
export async function vendorCampaign(
  base: Context,
  { vendor, type, recipients, endpoint, fromEmail = 'news@house.test', policy = 'park' }: VendorCampaign,
): Promise<CampaignWorld> {
  const campaign = { fromEmail, unknownPolicy: policy };
  const world = await campaignWorld(base, { recipients, smtpPort: 9, campaign });
  await useEndpoint(base, world, { vendor, type, endpoint });
  return world;
}

/** As somebody does who corrects the settings of the tenant's server. */
export async function useEndpoint(
  base: Context,
  { ctx }: CampaignWorld,
  { vendor, type, endpoint }: Pick<VendorCampaign, 'vendor' | 'type'> & { endpoint: string | undefined },
): Promise<void> {
  const customerId = ctx.viewer?.customerId ?? 0n;
  const [server] = await queryRows<{ id: bigint; uid: string }>(
    base.db,
    sql`SELECT id, uid FROM sending_server WHERE customer_id = ${customerId}`,
  );
  const driver = driverOf(base, type);
  const checked = driver.validate({
    ...vendor.settings,
    max_connections: 4,
    ...(endpoint !== undefined && { endpoint }),
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const entries = Object.entries(checked.settings);
  const isSecret = ([key]: [string, unknown]) => driver.secretKeys.includes(key);
  const open = Object.fromEntries(entries.filter((entry) => !isSecret(entry)));
  const secrets = Object.fromEntries(entries.filter(isSecret));
  await base.db.execute(
    sql`UPDATE sending_server SET type = ${type}, settings = ${JSON.stringify(open)}::jsonb, is_system = false, updated_at = now(),
               sealed_settings = ${sealSecrets(base.installation.secret, server?.uid ?? '', secrets)}
         WHERE customer_id = ${customerId}`,
  );
  await resetHealth(base.db, server?.id ?? 0n);
}

/** Sends all of it with a worker of its own. */
export async function playCampaign(ctx: Context, world: CampaignWorld): Promise<void> {
  const drivers = createDriverPool(ctx.hooks);
  const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
  const worker = await runWorker({
    ctx,
    tasks: [snapshotTask, sendBatchTask(tools)],
    concurrency: 2,
    crontab: [],
  });
  try {
    await startCampaign(world.ctx, world.campaignUid);
    await untilStatus(world, 'done');
  } finally {
    await worker.stop(10_000);
    await drivers.close();
  }
}

/**
 * Nobody is lost; nobody has more copies than were explained: one, and one for each time that nobody could know whether the message was taken
 * (`ambiguous`, only with the policy `retry`). What the ledger does not know may have arrived.
 */
export async function expectTrueLedger(
  ctx: Context,
  world: CampaignWorld,
  { vendor, recipients, ambiguous = 0 }: { vendor: ApiVendor; recipients: number; ambiguous?: number },
): Promise<{ sent: number; unknown: number; doubles: number }> {
  const copies = copiesByRecipient(vendor.taken());
  const doubles = [...copies.values()].reduce((sum, count) => sum + count - 1, 0);
  expect(doubles).toBeLessThanOrEqual(ambiguous);
  const { audience, sent, unknown } = await balanceOf(world);
  expect({ audience, settled: sent + unknown }).toEqual({ audience: recipients, settled: recipients });
  const rows = await queryRows<{ email: string; state: string }>(
    ctx.db,
    sql`SELECT email, state::text AS state FROM hot.delivery WHERE source_id = ${world.campaignId}`,
  );
  const lost = rows.filter(({ email, state }) => state === 'sent' && !copies.has(email));
  expect(lost).toEqual([]);
  return { sent, unknown, doubles };
}
