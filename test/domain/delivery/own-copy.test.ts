/** Memory of messages is used again: everybody still gets a copy of one's own, also when every few are refused. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { planCampaign } from '../../../src/domain/campaigns/plan-campaign.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { createDispatchCache } from '../../../src/domain/delivery/dispatch.ts';
import { sendBatch } from '../../../src/domain/delivery/send-batch.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';

const RECIPIENTS = 450;
const REFUSED_EACH = 7;
const HTML = `<p>Hello {FIRST_NAME} at {EMAIL}</p><p>${'A line as long as the one before it. '.repeat(250)}</p><p>{FIRST_NAME}</p>`;

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);

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
    const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
    await startCampaign(world.ctx, world.campaignUid);
    await planCampaign(world.ctx, key, new AbortController().signal);
    const drivers = createDriverPool(ctx.hooks);
    const tools = { drivers, dispatches: createDispatchCache(), announce: () => undefined };
    const worker = { ...tools, workerId: crypto.randomUUID(), abortSignal: new AbortController().signal };

    await sendBatch(ctx, { ...key, fromId: 0n, toId: 2n ** 62n }, worker);
    await drivers.close();
    expect(receiver.accepted).toHaveLength(RECIPIENTS - Math.floor(RECIPIENTS / REFUSED_EACH));
    for (const { to, content } of receiver.accepted) {
      const number = /\d+/.exec(to)?.[0];
      const whole = content.replaceAll('=\r\n', '');
      expect(new Set(whole.match(/p\d+@example\.org/g))).toEqual(new Set([`p${number}@example.org`]));
      expect(new Set(whole.match(/Name\d+/g))).toEqual(new Set([`Name${number}`]));
      expect(content.endsWith('--\r\n')).toBe(true);
    }
  },
);
