/** Large messages in flight: all campaigns of a process together have at most 64 MB of them in memory, however slow the servers are. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { balanceOf, campaignWorld, type CampaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';
import { withDriver } from '../../support/with-hooks.ts';

const IN_FLIGHT_BYTES_MAX = 64 * 1_048_576;
const CAMPAIGNS = 3;
/** 48 to 64 MB of a customer. */
const RECIPIENTS = 16;
/** 3.9 MB that are quick to read: a style sheet. */
const HTML = `<style>${'.a{color:#333333}\n'.repeat(227_000)}</style><p>Hello {FIRST_NAME}</p>`;

const ctx = await createTestContext();

/** A server's messages: in flight now and at most, in bytes, and how many it has accepted. */
interface Traffic {
  bytes: number;
  bytesMax: number;
  sent: number;
}

/** Offers a driver of this name, which accepts a message when `answered` resolves. */
function addDriver(type: string, answered: () => Promise<void>): Traffic {
  const traffic: Traffic = { bytes: 0, bytesMax: 0, sent: 0 };
  withDriver(ctx.hooks, {
    ...{ type, name: type, description: '', configKeys: [], secretKeys: [] },
    validate: () => ({ ok: true, settings: {} }),
    connect: () => ({
      capacity: 50,
      send: async ({ content, messageId }) => {
        traffic.bytes += content.length;
        traffic.bytesMax = Math.max(traffic.bytesMax, traffic.bytes);
        await answered();
        traffic.bytes -= content.length;
        traffic.sent += 1;
        return { runtimeMessageId: messageId, reply: '200' };
      },
      test: async () => ({ ok: true }),
      close: async () => undefined,
    }),
  });
  return traffic;
}

/**
 * It answers all that it has when for so long nothing more was handed over; the first time not before it has more than one campaign
 * may have alone, however long a busy machine takes to compose that.
 */
const QUIET_MS = 300;
const held: (() => void)[] = [];
let quiet: NodeJS.Timeout | undefined;
const slow = addDriver('slow', () => {
  clearTimeout(quiet);
  quiet = setTimeout(() => {
    if (slow.bytesMax <= IN_FLIGHT_BYTES_MAX / 2) return;
    for (const answer of held.splice(0)) answer();
  }, QUIET_MS);
  return new Promise((resolve) => held.push(resolve));
});
const released = Promise.withResolvers<void>();
const stuck = addDriver('stuck', () => released.promise);
const quick = addDriver('quick', () => Promise.resolve());

async function startedWorld(driver: string): Promise<CampaignWorld> {
  const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: 9, campaign: { html: HTML } });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  await ctx.db.execute(
    sql`UPDATE sending_server SET type = ${driver}, settings = '{}' WHERE customer_id = ${customerId}`,
  );
  await startCampaign(world.ctx, world.campaignUid);
  const key = { customerId, campaignId: world.campaignId };
  await snapshotAudience(world.ctx, key, new AbortController().signal);
  return world;
}

function startWorker() {
  const drivers = createDriverPool(ctx.hooks);
  const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
  const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };
  const send = ({ ctx: { viewer }, campaignId }: CampaignWorld, fromId = 0n, toId = 2n ** 62n) =>
    sendBatch(ctx, { customerId: viewer?.customerId ?? 0n, campaignId, fromId, toId }, worker);
  return { send, close: () => drivers.close() };
}

const allSent = { sent: RECIPIENTS, queued: 0, sending: 0 };

test('48 messages of 4 MB, of three campaigns at once, take at most 64 MB, and all are sent', async () => {
  const worker = startWorker();
  const worlds: CampaignWorld[] = [];
  for (let count = 0; count < CAMPAIGNS; count++) worlds.push(await startedWorld('slow'));
  await Promise.all(worlds.map((world) => worker.send(world)));
  await worker.close();
  expect(slow.sent).toBe(CAMPAIGNS * RECIPIENTS);
  expect(slow.bytesMax).toBeLessThanOrEqual(IN_FLIGHT_BYTES_MAX);
  // More than one campaign may have alone: they share it.
  expect(slow.bytesMax).toBeGreaterThan(IN_FLIGHT_BYTES_MAX / 2);
  for (const world of worlds) expect(await balanceOf(world)).toMatchObject(allSent);
});

/** The recipient up to whom the first of two batches goes. */
async function middleOf({ campaignId }: CampaignWorld): Promise<bigint> {
  const [row] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT recipient_id AS id FROM hot.delivery WHERE source_id = ${campaignId} ORDER BY 1 OFFSET ${RECIPIENTS / 2 - 1} LIMIT 1`,
  );
  return row?.id ?? 0n;
}

test('customers whose servers do not answer take no memory from others: one has half of it at most, and a first message always goes', async () => {
  const worker = startWorker();
  const [one, two, other] = [await startedWorld('stuck'), await startedWorld('stuck'), await startedWorld('quick')];
  const startStuck = async (world: CampaignWorld) => {
    const middleId = await middleOf(world);
    return [worker.send(world, 0n, middleId), worker.send(world, middleId + 1n)];
  };
  const ofOne = await startStuck(one);
  await expect.poll(() => stuck.bytes, { timeout: 120_000 }).toBeGreaterThan(IN_FLIGHT_BYTES_MAX / 4);
  const ofTwo = await startStuck(two);
  await worker.send(other);
  expect([quick.sent, stuck.sent]).toEqual([RECIPIENTS, 0]);
  expect(await balanceOf(other)).toMatchObject(allSent);
  expect(stuck.bytesMax + quick.bytesMax).toBeLessThanOrEqual(IN_FLIGHT_BYTES_MAX);
  const bytesOf = async (world: CampaignWorld) => (await balanceOf(world)).sending * Buffer.byteLength(HTML);
  for (const world of [one, two]) expect(await bytesOf(world)).toBeLessThanOrEqual(IN_FLIGHT_BYTES_MAX / 2);
  released.resolve();
  await Promise.all([...ofOne, ...ofTwo]);
  await worker.close();
  for (const world of [one, two]) expect(await balanceOf(world)).toMatchObject(allSent);
});
