/**
 * Who is mailed is decided by the address on the envelope, until the moment it leaves. A server that stops answering in the
 * middle of a batch holds the rest of it; meanwhile people change, and what arrives afterwards is counted.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { suppressAddresses } from '../../../src/domain/audience/suppression-list.ts';
import { unsubscribeSubscriber } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { erasePerson } from '../../../src/domain/audience/erasing/erase-person.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import type { Context } from '../../../src/domain/context.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { reportOnDelivery } from '../../../src/domain/tracking/report-on-delivery.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import { sql } from '../../../src/db/database.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { balanceOf, campaignWorld, copiesByRecipient, type CampaignWorld } from '../../support/campaign-world.ts';
import { givePlan } from '../../support/plans.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { deliveryOf } from '../../support/delivery-of.ts';
import { createTestContext } from '../../support/test-context.ts';

const PEOPLE = 60;
/** Messages that the server takes before it stops answering. */
const TAKEN_BEFORE = 6;
/** Beyond half a second a message is asked about again before it leaves. */
const CHANGED_FOR_MS = 700;
const BATCHES_MAX = 100;

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);

/** A server that answers nothing from a moment on until it is let go. */
async function holdableServer(extensions: readonly string[]) {
  const held: (() => void)[] = [];
  let isHeld: boolean | undefined;
  const server = await scriptedSmtpServer({
    extensions,
    write: (reply, { socket }) => {
      const write = (): void => void (socket.destroyed || socket.write(reply));
      if (server.accepted.length >= TAKEN_BEFORE) isHeld ??= true;
      if (isHeld) held.push(write);
      else write();
    },
  });
  return {
    server,
    isHolding: () => held.length > 0,
    letGo: () => {
      isHeld = false;
      server.accepted.length = 0;
      for (const write of held.splice(0)) write();
    },
  };
}

type Change = (world: Context, email: string) => Promise<unknown>;

const CHANGES: Readonly<Record<string, Change>> = {
  'has another address': (world, email) => updateSubscriber(world, { subscriber: email, email: `new.${email}` }),
  'is suppressed': (world, email) => suppressAddresses(world, { emails: [email] }),
  'is suppressed everywhere': (_world, email) =>
    ctx.db.execute(sql`INSERT INTO suppression (customer_id, email_key, reason) VALUES (0, ${email}, 'manual')`),
  'is erased': (world, email) => erasePerson(world, { email }),
  'has left': (world, email) => unsubscribeSubscriber(world, { subscriber: email }),
  'has another address, and that one is suppressed': async (world, email) => {
    await updateSubscriber(world, { subscriber: email, email: `gone.${email}` });
    await suppressAddresses(world, { emails: [`gone.${email}`] });
  },
  'has changed nothing': async () => undefined,
};
const KINDS = Object.keys(CHANGES);
const kindOf = (email: string): string => KINDS[Number(/\d+/.exec(email)?.[0]) % KINDS.length] ?? '';

async function people({ ctx: world, listId }: CampaignWorld): Promise<{ id: bigint; email: string }[]> {
  return queryRows<{ id: bigint; email: string }>(
    world.db,
    sql`SELECT id, email FROM subscriber WHERE list_id = ${listId} ORDER BY id`,
  );
}

async function ledgerOf({ ctx: world, campaignId }: CampaignWorld) {
  const rows = await queryRows<{ id: bigint; email: string; state: string }>(
    world.db,
    sql`SELECT recipient_id AS id, email, state::text AS state FROM hot.delivery WHERE source_id = ${campaignId}`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

test.each([
  ['one by one', [], 'no limit'],
  ['pipelined', ['PIPELINING'], 'no limit'],
  ['in chunks', ['PIPELINING', 'CHUNKING'], 'no limit'],
  ['pipelined, from a plan with credits', ['PIPELINING'], 'credits'],
])(
  'nobody is mailed at an address that is not right any more: %s',
  { timeout: 300_000 },
  async (_way, extensions, limit) => {
    const { server, isHolding, letGo } = await holdableServer(extensions);
    await using receiver = server;
    const world = await campaignWorld(ctx, {
      ...{ recipients: PEOPLE, smtpPort: receiver.port },
      server: { connections: 2, window: 10 },
    });
    const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
    if (limit === 'credits')
      await givePlan(ctx.db, key.customerId, { email_max: '1000', sending_server_option: 'own' });
    await startCampaign(world.ctx, world.campaignUid);
    await snapshotAudience(world.ctx, key, new AbortController().signal);
    const drivers = createDriverPool(ctx.hooks);
    const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
    const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };
    const send = () => sendBatch(ctx, { ...key, fromId: 0n, toId: 2n ** 62n }, worker);

    const firstBatch = send();
    await expect.poll(isHolding, { timeout: 120_000 }).toBe(true);
    const before = await people(world);
    const begun = new Set(receiver.accepted.map(({ to }) => to));
    const waiting = before.filter(({ email }) => !begun.has(email));
    for (const { email } of waiting) await CHANGES[kindOf(email)]?.(world.ctx, email);
    await sleep(CHANGED_FOR_MS);
    const onTheWire = new Set(receiver.accepted.map(({ to }) => to));
    letGo();
    await firstBatch;
    for (let batch = 0; batch < BATCHES_MAX && (await balanceOf(world)).queued > 0; batch++) await send();
    await drivers.close();
    await ctx.db.execute(sql`DELETE FROM suppression WHERE customer_id = 0`);

    const copies = copiesByRecipient(receiver.accepted);
    const ledger = await ledgerOf(world);
    const changed = waiting.filter(({ email }) => !onTheWire.has(email));
    expect(changed.length).toBeGreaterThan(PEOPLE / 2);
    for (const { id, email } of changed) {
      const kind = kindOf(email);
      const row = ledger.get(id);
      const isMailed = kind === 'has changed nothing' || kind === 'has another address';
      const used = kind === 'has another address' ? `new.${email}` : email;
      const said = { kind, email, toOld: copies.get(email) ?? 0, toUsed: copies.get(used) ?? 0, state: row?.state };
      const state = isMailed ? 'sent' : kind.includes('suppressed') ? 'suppressed' : 'skipped';
      expect(said).toEqual({ kind, email, toOld: used === email && isMailed ? 1 : 0, toUsed: isMailed ? 1 : 0, state });
      if (isMailed) expect(row?.email).toBe(used);
      if (kind === 'has another address, and that one is suppressed') expect(row?.email).toBe(`gone.${email}`);
    }
    expect(await balanceOf(world)).toMatchObject({ audience: PEOPLE, queued: 0, sending: 0, leased: 0 });
  },
);

test('a bounce is about the address that the message went to', async () => {
  const world = await campaignWorld(ctx, { recipients: 2, smtpPort: 9 });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, { customerId, campaignId: world.campaignId }, new AbortController().signal);
  const [first, second] = await people(world);
  await ctx.db.execute(sql`UPDATE hot.delivery SET state = 'sent' WHERE source_id = ${world.campaignId}`);
  await updateSubscriber(world.ctx, { subscriber: subscriberUid(first?.id ?? 0n), email: 'moved@example.org' });
  const news = { kind: 'bounce', type: 'hard', statusCode: '5.1.1', message: 'nobody here' } as const;
  for (const person of [first, second])
    await reportOnDelivery(
      ctx,
      deliveryOf({ customerId, campaignId: world.campaignId, subscriberId: person?.id ?? 0n }),
      news,
    );
  const suppressed = await queryRows(
    ctx.db,
    sql`SELECT email_key AS email FROM suppression WHERE customer_id = ${customerId} ORDER BY 1`,
  );
  expect(suppressed).toEqual([{ email: 'p1@example.org' }, { email: 'p2@example.org' }]);
});
