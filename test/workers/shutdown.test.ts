/** A worker process that is asked to stop while a server keeps it waiting (HARD-CASES H15). */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { campaignWorld } from '../support/campaign-world.ts';
import { startProgram } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);

it('stops within ten seconds although a server never answers', async () => {
  let isAsked = false;
  await using smtp = await scriptedSmtpServer({
    answer: ({ verb }) => {
      if (verb !== 'CONTENT') return undefined;
      isAsked = true;
      return null;
    },
  });
  const world = await campaignWorld(ctx, { recipients: 3, smtpPort: smtp.port });
  const worker = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'worker' });
  await startCampaign(world.ctx, world.campaignUid);
  while (!isAsked) await sleep(10);
  const { code, ms } = await worker.stop();
  expect(code).toBe(0);
  expect(ms).toBeLessThan(10_000);
}, 60_000);
