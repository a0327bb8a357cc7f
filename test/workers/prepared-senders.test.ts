/** Campaigns through a vendor that is asked first whether it sends for the From address. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { resumeCampaign } from '../../src/domain/campaigns/resume-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { afterFile } from '../support/after-file.ts';
import { balanceOf, untilStatus } from '../support/campaign-world.ts';
import { sesError, startSesVendor } from '../support/ses-vendor.ts';
import { storedReason } from '../support/stored-reason.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';
import { vendorCampaign } from '../support/vendor-campaign.ts';

const RECIPIENTS = 200;
const limits = { ...testInstallation.limits, sendBatchSize: 50, sendRetryDelaySeconds: 0.5 };
const installation = { ...testInstallation, limits, outboundAllowHosts: ['127.0.0.1'] };
const ctx = await createTestContext({ installation });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const drivers = createDriverPool(ctx.hooks);
const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
const worker = await runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(tools)], concurrency: 2, crontab: [] });
afterFile(async () => {
  await worker.stop(10_000);
  await drivers.close();
});

/** The key may ask about a sender, and not list all: what the start of a campaign would ask is not known. */
const MAY_NOT_LIST = sesError(
  403,
  'AccessDeniedException',
  'User is not authorized to perform: ses:ListEmailIdentities',
);
const LIST = '/v2/email/identities';

async function worldWith(identities: readonly string[]) {
  const vendor = await startSesVendor({ identities });
  afterFile(() => vendor.close());
  vendor.answerOthersBy(({ path: asked }) => (asked === LIST ? MAY_NOT_LIST : undefined));
  const world = await vendorCampaign(ctx, {
    vendor,
    type: 'amazon-api',
    recipients: RECIPIENTS,
    fromEmail: 'news@sender.example',
  });
  const questions = () => vendor.requests().filter(({ path: asked }) => asked.startsWith('/v2/email/identities/'));
  return { vendor, world, questions };
}

test('a sender that is not verified stops the campaign before the first message, and says so', async () => {
  const { vendor, world, questions } = await worldWith(['house.test']);
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'paused');
  // Those of the batches that are under way go back a moment later.
  const untouched = { audience: RECIPIENTS, queued: RECIPIENTS, sent: 0, failed: 0 };
  await expect.poll(async () => await balanceOf(world)).toMatchObject(untouched);
  expect(vendor.count()).toBe(0);
  // The address and its domain, for all messages in flight.
  expect(questions().map(({ path: asked }) => decodeURIComponent(asked))).toEqual([
    '/v2/email/identities/news@sender.example',
    '/v2/email/identities/sender.example',
  ]);
  expect(await storedReason(ctx.db, world.campaignId)).toContain(
    'neither the address nor its domain sender.example is verified in eu-west-1',
  );
});

test('a verified domain is asked for once, and the campaign sends', async () => {
  const { vendor, world, questions } = await worldWith(['sender.example']);
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: RECIPIENTS });
  expect(vendor.count()).toBe(RECIPIENTS);
  expect(questions()).toHaveLength(2);
});

test('what SES does not say holds nobody up', async () => {
  const { vendor, world } = await worldWith([]);
  vendor.answerOthersBy(({ path: asked }) =>
    asked.startsWith(LIST)
      ? sesError(403, 'AccessDeniedException', 'User is not authorized to perform: ses:GetEmailIdentity')
      : undefined,
  );
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(await balanceOf(world)).toMatchObject({ sent: RECIPIENTS });
});

test('after it was verified there the campaign is resumed', async () => {
  const { vendor, world } = await worldWith(['house.test']);
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'paused');
  vendor.answerOthersBy(({ path: asked }) =>
    asked === '/v2/email/identities/sender.example'
      ? { status: 200, body: { IdentityType: 'DOMAIN', VerifiedForSendingStatus: true } }
      : asked === LIST
        ? MAY_NOT_LIST
        : undefined,
  );
  // A failure is remembered for ten seconds; then the campaign that was resumed too early may be resumed again.
  await expect
    .poll(
      async () => {
        await resumeCampaign(world.ctx, world.campaignUid).catch(() => undefined);
        return (await balanceOf(world)).sent;
      },
      { timeout: 120_000, interval: 1_000 },
    )
    .toBe(RECIPIENTS);
});
