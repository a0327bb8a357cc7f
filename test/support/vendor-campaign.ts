/** A campaign through the driver of a vendor that answers well, badly or not at all; and what must be true of its ledger afterwards. */
import { expect } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/active-campaign.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { driverOf } from '../../src/domain/sending/try-settings.ts';
import { sealSecrets } from '../../src/domain/sending/server-secrets.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import type { ApiRequest, ApiVendor, ScriptedAnswer } from './api-vendor.ts';
import { balanceOf, campaignWorld, copiesByRecipient, untilStatus, type CampaignWorld } from './campaign-world.ts';

/** Faults by turns, some of them on top of each other: none is the fault of a recipient. */
export function faultsByTurns(accepted: ScriptedAnswer): (request: ApiRequest) => ScriptedAnswer | undefined {
  let turn = 0;
  const half: ScriptedAnswer = typeof accepted === 'object' && 'status' in accepted ? { half: accepted } : 'cut';
  const turns: readonly (readonly [every: number, answer: ScriptedAnswer])[] = [
    [41, 'taken and cut'],
    [37, 'cut'],
    [31, half],
    [13, { status: 503, headers: { 'Retry-After': '1' }, body: 'away' }],
    [11, { status: 500, body: 'trouble' }],
    [7, { status: 429, headers: { 'Retry-After': '1' }, body: 'too fast' }],
  ];
  return () => {
    turn++;
    return turns.find(([every]) => turn % every === 0)?.[1];
  };
}

export interface VendorCampaign {
  readonly vendor: ApiVendor;
  readonly type: string;
  readonly recipients: number;
  /** Else one that all vendors know. */
  readonly fromEmail?: string;
}

/** A tenant with a campaign whose server is the vendor's. */
export async function vendorCampaign(
  base: Context,
  { vendor, type, recipients, fromEmail = 'news@house.test' }: VendorCampaign,
): Promise<CampaignWorld> {
  const world = await campaignWorld(base, { recipients, smtpPort: 9, campaign: { fromEmail } });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  const [server] = await queryRows<{ uid: string }>(
    base.db,
    sql`SELECT uid FROM sending_server WHERE customer_id = ${customerId}`,
  );
  const driver = driverOf(base, type);
  const checked = driver.validate({ ...vendor.settings, max_connections: 4 });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const entries = Object.entries(checked.settings);
  const isSecret = ([key]: [string, unknown]) => driver.secretKeys.includes(key);
  const open = Object.fromEntries(entries.filter((entry) => !isSecret(entry)));
  const secrets = Object.fromEntries(entries.filter(isSecret));
  await base.db.execute(
    sql`UPDATE sending_server SET type = ${type}, settings = ${JSON.stringify(open)}::jsonb, is_system = false,
               sealed_settings = ${sealSecrets(base.installation.secret, server?.uid ?? '', secrets)}
         WHERE customer_id = ${customerId}`,
  );
  return world;
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

/** Nobody is lost, nobody has two, and what the ledger does not know may have arrived. */
export async function expectTrueLedger(
  ctx: Context,
  world: CampaignWorld,
  { vendor, recipients }: { vendor: ApiVendor; recipients: number },
): Promise<{ sent: number; unknown: number }> {
  const copies = copiesByRecipient(vendor.taken());
  expect([...copies].filter(([, count]) => count > 1)).toEqual([]);
  const { audience, sent, unknown } = await balanceOf(world);
  expect({ audience, settled: sent + unknown }).toEqual({ audience: recipients, settled: recipients });
  const rows = await queryRows<{ email: string; state: string }>(
    ctx.db,
    sql`SELECT email, state::text AS state FROM hot.delivery WHERE source_id = ${world.campaignId}`,
  );
  const lost = rows.filter(({ email, state }) => state === 'sent' && !copies.has(email));
  expect(lost).toEqual([]);
  return { sent, unknown };
}
