/**
 * A vendor that knows messages again by their key: what is of unknown fate goes out again while it does, and never
 * after. The driver here stands for any vendor's; the vendor forgets a key when the test says so.
 */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { decideUnknownDeliveries } from '../../../src/domain/campaigns/decide-unknown-deliveries.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { SendingError, type OutgoingMessage, type SendingDriver } from '../../../src/plugin-api/index.ts';
import { balanceOf, campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';
import { withDriver } from '../../support/with-hooks.ts';

const KEY_SECONDS = 900;
const RECIPIENTS = 20;
/** Of every fourth one it is not said what became of it. */
const UNKNOWN_OUTCOME = RECIPIENTS / 4;

/** Takes every message once a key and, as long as `isVague`, does not get round to saying so. */
class Vendor implements SendingDriver {
  /** Everybody at once: the first doubt lets a server rest. */
  readonly capacity = RECIPIENTS;
  readonly deliveries: string[] = [];
  readonly attempts: string[] = [];
  isVague = true;
  readonly #keys = new Set<string>();

  send({ envelope, idempotencyKey, messageId }: OutgoingMessage) {
    expect(idempotencyKey).toMatch(/^[0-9A-Za-z.]{16,64}$/);
    this.attempts.push(`${envelope.to} ${idempotencyKey}`);
    if (!this.#keys.has(idempotencyKey)) this.deliveries.push(envelope.to);
    this.#keys.add(idempotencyKey);
    const wasOutcomeUnknown = Number(/\d+/.exec(envelope.to)) % 4 === 1;
    if (this.isVague && wasOutcomeUnknown) return Promise.reject(new SendingError('unknown', 'The request timed out'));
    return Promise.resolve({ runtimeMessageId: messageId, reply: '200' });
  }

  forgetKeys(): void {
    this.#keys.clear();
  }

  async test() {
    return { ok: true as const };
  }

  async close() {}
}

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
let vendor = new Vendor();
withDriver(ctx.hooks, {
  type: 'vendor-api',
  name: 'Vendor',
  description: '',
  configKeys: [],
  secretKeys: [],
  idempotencyKeySeconds: KEY_SECONDS,
  validate: () => ({ ok: true, settings: {} }),
  connect: () => vendor,
});

async function vendorWorld(policy: 'park' | 'retry') {
  vendor = new Vendor();
  const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: 9 });
  const { campaignId } = world;
  await ctx.db.execute(
    sql`UPDATE sending_server SET type = 'vendor-api', settings = '{}' WHERE customer_id = ${world.ctx.viewer?.customerId ?? 0n}`,
  );
  await ctx.db.execute(sql`UPDATE campaign SET unknown_policy = ${policy} WHERE id = ${campaignId}`);
  const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId };
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, key, new AbortController().signal);
  return {
    world,
    /** One job over everybody, as if all waits were over. */
    async send() {
      const drivers = createDriverPool(ctx.hooks);
      await ctx.db.execute(sql`DELETE FROM hot.sending_health`);
      await ctx.db.execute(sql`UPDATE hot.delivery SET not_before = NULL WHERE source_id = ${campaignId}`);
      const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
      const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };
      await sendBatch(ctx, { ...key, fromId: 0n, toId: 2n ** 62n }, worker);
      // Writes down what it learned of the server's health, for the next job to forget.
      await drivers.close();
    },
    async letPass(seconds: number) {
      await ctx.db.execute(
        sql`UPDATE hot.delivery SET updated_at = updated_at - make_interval(secs => ${seconds}),
              ambiguous_since = ambiguous_since - make_interval(secs => ${seconds}) WHERE source_id = ${campaignId}`,
      );
    },
  };
}

describe('messages of unknown fate at a vendor with keys', () => {
  it('go out again under the same key, and nobody gets two', async () => {
    const { world, send, letPass } = await vendorWorld('retry');
    await send();
    await letPass(200);
    await send();
    await letPass(200);
    vendor.isVague = false;
    await send();
    expect(await balanceOf(world)).toMatchObject({ audience: RECIPIENTS, sent: RECIPIENTS, unknown: 0 });
    expect(vendor.deliveries).toHaveLength(RECIPIENTS);
    expect(vendor.attempts).toHaveLength(RECIPIENTS + 2 * UNKNOWN_OUTCOME);
    expect(new Set(vendor.attempts).size).toBe(RECIPIENTS);
  });

  it('are parked before the vendor forgets them, counted from the first doubt', async () => {
    const { world, send, letPass } = await vendorWorld('retry');
    await send();
    await letPass(500);
    await send();
    await letPass(500);
    vendor.forgetKeys();
    await send();
    expect(vendor.deliveries).toHaveLength(RECIPIENTS);
    expect(vendor.attempts).toHaveLength(RECIPIENTS + UNKNOWN_OUTCOME);
    expect(await balanceOf(world)).toMatchObject({ audience: RECIPIENTS, queued: 0, unknown: UNKNOWN_OUTCOME });
    const [counter] = await queryRows(
      ctx.db,
      sql`SELECT open, unknown FROM hot.delivery_counter WHERE source_id = ${world.campaignId}`,
    );
    expect(counter).toEqual({ open: 0, unknown: UNKNOWN_OUTCOME });
    // by hand they go out all the same
    await decideUnknownDeliveries(world.ctx, world.campaignUid, 'resend');
    vendor.isVague = false;
    await send();
    expect(await balanceOf(world)).toMatchObject({ sent: RECIPIENTS, unknown: 0 });
  });

  it('are parked when another server would get them', async () => {
    const { world, send } = await vendorWorld('retry');
    await send();
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET server_id = server_id + 1000 WHERE source_id = ${world.campaignId}`,
    );
    await send();
    expect(vendor.attempts).toHaveLength(RECIPIENTS);
    expect(await balanceOf(world)).toMatchObject({ unknown: UNKNOWN_OUTCOME });
  });

  it('are parked at once where the campaign says so', async () => {
    const { world, send } = await vendorWorld('park');
    await send();
    await send();
    expect(vendor.attempts).toHaveLength(RECIPIENTS);
    expect(await balanceOf(world)).toMatchObject({ unknown: UNKNOWN_OUTCOME });
  });

  it('of a worker that died are in doubt since they were handed over', async () => {
    const { world, send } = await vendorWorld('retry');
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET state = 'sending', owner = gen_random_uuid(), lease_expires_at = now() - interval '1 second',
            updated_at = now() - make_interval(secs => ${KEY_SECONDS}) WHERE source_id = ${world.campaignId}`,
    );
    await send();
    expect(vendor.attempts).toHaveLength(0);
    expect(await balanceOf(world)).toMatchObject({ unknown: RECIPIENTS });
  });
});
