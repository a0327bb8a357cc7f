/** Campaigns through vendors that are too busy, break, or cut connections: nobody is lost, and nobody gets two. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { afterFile } from '../support/after-file.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';
import { expectTrueLedger, faultsByTurns, playCampaign, vendorCampaign } from '../support/vendor-campaign.ts';
import { VENDORS } from '../support/vendors.ts';

const RECIPIENTS = 80;
const limits = { ...testInstallation.limits, sendBatchSize: 50, sendRetryDelaySeconds: 0.5 };
const installation = { ...testInstallation, limits, outboundAllowHosts: ['127.0.0.1'] };
const ctx = await createTestContext({ installation });
await loadPlugins(path.resolve('plugins'), ctx.hooks);

// All at once: most of the time passes while servers rest.
test.concurrent.each(VENDORS)('a campaign with faults through $type', async ({ type, start }) => {
  const vendor = await start();
  afterFile(() => vendor.close());
  const world = await vendorCampaign(ctx, { vendor, type, recipients: RECIPIENTS });
  vendor.answerBy(faultsByTurns({ status: 200, body: { half: 'of an answer' } }));
  await playCampaign(ctx, world);
  const { unknown } = await expectTrueLedger(ctx, world, { vendor, recipients: RECIPIENTS });
  // Those that were cut off, and no more.
  expect(unknown).toBeGreaterThan(0);
  expect(unknown).toBeLessThan(RECIPIENTS / 8);
});
