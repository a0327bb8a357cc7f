/** Memory of messages is used again: everybody still gets a copy of one's own, also when every few are refused, and of a plugin that keeps it. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { sendBatch } from '../../../src/domain/delivery/campaigns/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { campaignWorld, type CampaignWorld } from '../../support/campaign-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';
import { withDriver } from '../../support/with-hooks.ts';

const RECIPIENTS = 450;
const REFUSED_EACH = 7;
const HTML = `<p>Hello {FIRST_NAME} at {EMAIL}</p><p>${'A line as long as the one before it. '.repeat(250)}</p><p>{FIRST_NAME}</p>`;

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);

const HUGE_RANGE = { fromId: 0n, toId: 2n ** 62n };

async function sendAll(world: CampaignWorld): Promise<void> {
  const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
  await startCampaign(world.ctx, world.campaignUid);
  await snapshotAudience(world.ctx, key, new AbortController().signal);
  const drivers = createDriverPool(ctx.hooks);
  const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
  const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };
  await sendBatch(ctx, { ...key, ...HUGE_RANGE }, worker);
  await drivers.close();
}

function expectOwnCopy(to: string, content: string): void {
  const number = /\d+/.exec(to)?.[0];
  const whole = content.replaceAll('=\r\n', '');
  expect(new Set(whole.match(/p\d+@example\.org/g))).toEqual(new Set([`p${number}@example.org`]));
  expect(new Set(whole.match(/Name\d+/g))).toEqual(new Set([`Name${number}`]));
  expect(content.endsWith('--\r\n')).toBe(true);
}

test.each([['PIPELINING'], ['PIPELINING', 'CHUNKING']])(
  'everybody gets a message of their own',
  async (...extensions) => {
    await using receiver = await scriptedSmtpServer({
      extensions,
      answer: ({ verb, session: { to = '' } }) =>
        ['CONTENT', 'BDAT'].includes(verb) && Number(/\d+/.exec(to)) % REFUSED_EACH === 0
          ? '550 5.7.1 Not this one'
          : undefined,
    });
    const world = await campaignWorld(ctx, {
      ...{ recipients: RECIPIENTS, smtpPort: receiver.port, campaign: { html: HTML } },
      server: { connections: 3, window: 10 },
    });
    await sendAll(world);
    expect(receiver.accepted).toHaveLength(RECIPIENTS - Math.floor(RECIPIENTS / REFUSED_EACH));
    for (const { to, content } of receiver.accepted) expectOwnCopy(to, content);
  },
);

test('what a plugin keeps of a message stays as it was, and the memory around it holds nobody else', async () => {
  const kept: { to: string; content: Uint8Array }[] = [];
  withDriver(ctx.hooks, {
    type: 'keeper',
    name: 'Keeper',
    description: '',
    configKeys: [],
    secretKeys: [],
    validate: () => ({ ok: true, settings: {} }),
    connect: () => ({
      capacity: 10,
      send: async ({ envelope, content, messageId }) => {
        kept.push({ to: envelope.to, content });
        return { runtimeMessageId: messageId, reply: '200' };
      },
      test: async () => ({ ok: true }),
      close: async () => undefined,
    }),
  });
  const world = await campaignWorld(ctx, { recipients: 100, smtpPort: 9, campaign: { html: HTML } });
  await ctx.db.execute(
    sql`UPDATE sending_server SET type = 'keeper', settings = '{}' WHERE customer_id = ${world.ctx.viewer?.customerId ?? 0n}`,
  );
  await sendAll(world);
  expect(kept).toHaveLength(100);
  for (const { to, content } of kept) expectOwnCopy(to, Buffer.from(content.buffer).toString('latin1'));
});
