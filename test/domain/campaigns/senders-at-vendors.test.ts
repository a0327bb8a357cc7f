/** A campaign does not start from a sender that the vendor of its server has not verified, as far as the vendor says so. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { resumeCampaign } from '../../../src/domain/campaigns/resume-campaign.ts';
import { scheduleCampaign } from '../../../src/domain/campaigns/schedule-campaign.ts';
import { startCampaign, startScheduledCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { updateCampaign } from '../../../src/domain/campaigns/update-campaign.ts';
import { checkSender } from '../../../src/domain/sending/check-sender.ts';
import { driverOf } from '../../../src/domain/sending/try-settings.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { afterFile } from '../../support/after-file.ts';
import { statusOf, type CampaignWorld } from '../../support/campaign-world.ts';
import { startSendGridVendor } from '../../support/sendgrid-vendor.ts';
import { sesError, startSesVendor } from '../../support/ses-vendor.ts';
import { storedReason } from '../../support/stored-reason.ts';
import { createTestContext, testInstallation } from '../../support/test-context.ts';
import { vendorCampaign } from '../../support/vendor-campaign.ts';
import { withDriver } from '../../support/with-hooks.ts';

const ctx = await createTestContext({ installation: { ...testInstallation, outboundAllowHosts: ['127.0.0.1'] } });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
// The same, for accounts that share their senders.
const senders = { domains: 'vendor', addresses: 'vendor', areShared: true } as const;
withDriver(ctx.hooks, { ...driverOf(ctx, 'amazon-api'), type: 'shared-api', senders });

// The same, of a vendor that takes its time.
withDriver(ctx.hooks, {
  ...{ ...driverOf(ctx, 'amazon-api'), type: 'slow-api' },
  identities(...given) {
    const shown = driverOf(ctx, 'amazon-api').identities?.(...given);
    if (!shown) throw new Error('Amazon SES shows its identities.');
    return { ...shown, list: () => shown.list().then((all) => sleep(1_000, all)) };
  },
});

async function worldWith(identities: readonly string[], { type = 'amazon-api', from = 'news@sender.example' } = {}) {
  const vendor = await startSesVendor({ identities });
  afterFile(() => vendor.close());
  const world = await vendorCampaign(ctx, { vendor, type, recipients: 2, fromEmail: from });
  const lists = () => vendor.requests().filter(({ path: asked }) => asked === '/v2/email/identities').length;
  return { vendor, world, lists };
}

const NOT_READY = {
  code: 'CAMPAIGN_NOT_READY',
  fields: { fromEmail: [expect.stringContaining('The sending server "Test" does not send for news@sender.example')] },
};
/** Another version of the server: what is known of it counts no more. */
const touchServers = ({ ctx: { viewer } }: CampaignWorld) =>
  ctx.db.execute(sql`UPDATE sending_server SET updated_at = now() WHERE customer_id = ${viewer?.customerId}`);

test('the start names server and domain; after the domain was verified it works; the vendor is asked once', async () => {
  const { vendor, world, lists } = await worldWith(['house.test']);
  // Such an answer counts for ten seconds.
  passes();
  await expect(startCampaign(world.ctx, world.campaignUid)).rejects.toMatchObject(NOT_READY);
  await expect(startCampaign(world.ctx, world.campaignUid)).rejects.toMatchObject(NOT_READY);
  const { problems } = await checkSender(world.ctx, { email: 'news@sender.example' });
  expect(problems[0]).toContain('its vendor has not verified the domain sender.example');
  expect(lists()).toBe(1);
  const EmailIdentities = [{ IdentityType: 'DOMAIN', IdentityName: 'Sender.Example', VerificationStatus: 'SUCCESS' }];
  vendor.answerOthersBy(() => ({ status: 200, body: { EmailIdentities } }));
  await touchServers(world);
  await startCampaign(world.ctx, world.campaignUid);
  expect(await statusOf(world)).toBe('queued');
  expect((await checkSender(world.ctx, { email: 'x@deep.sender.example' })).problems.join()).not.toContain('vendor');
});

test.each([
  ['a verified address', ['News@Sender.Example'], 'news@sender.example'],
  ['a verified address, with a label', ['news@sender.example'], 'news+may@sender.example'],
  ['a domain above it', ['sender.example'], 'news@deep.sender.example'],
])('%s is enough', async (_what, identities, from) => {
  const { world } = await worldWith(identities, { from });
  await startCampaign(world.ctx, world.campaignUid);
  expect(await statusOf(world)).toBe('queued');
});

test.each([
  ['may not be asked', { status: 403, body: 'no' }],
  ['is in trouble', sesError(503, 'ServiceUnavailable', 'away')],
  ['answers nonsense', { status: 200, body: 'nonsense' }],
])('a vendor that %s holds nobody up', async (_what, answer) => {
  const { vendor, world } = await worldWith([]);
  vendor.answerOthersBy(() => answer);
  await startCampaign(world.ctx, world.campaignUid);
  expect(await statusOf(world)).toBe('queued');
});

test('one that was scheduled is paused at its time, with the reason, and can be resumed', async () => {
  const { vendor, world } = await worldWith(['sender.example']);
  await scheduleCampaign(world.ctx, world.campaignUid, new Date(Date.now() + 60_000));
  vendor.answerOthersBy(() => ({ status: 200, body: { EmailIdentities: [] } }));
  await touchServers(world);
  await ctx.db.execute(sql`UPDATE campaign SET delivery_at = now() WHERE id = ${world.campaignId}`);
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  await startScheduledCampaign(ctx, { customerId, campaignId: world.campaignId });
  expect(await statusOf(world)).toBe('paused');
  expect(await storedReason(ctx.db, world.campaignId)).toContain('has not verified the domain sender.example');
  await expect(resumeCampaign(world.ctx, world.campaignUid)).rejects.toMatchObject(NOT_READY);
  vendor.answerOthersBy(undefined);
  await touchServers(world);
  await resumeCampaign(world.ctx, world.campaignUid);
  expect(await statusOf(world)).toBe('queued');
});

async function addServer(from: CampaignWorld, to: CampaignWorld): Promise<void> {
  // With the secrets of the first one, which are sealed for its uid.
  await ctx.db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, sealed_settings)
    SELECT ${to.ctx.viewer?.customerId}, uid, 'Second', type, settings, sealed_settings FROM sending_server
     WHERE customer_id = ${from.ctx.viewer?.customerId}`);
  await ctx.db.execute(sql`
    UPDATE campaign SET sending_servers = (SELECT jsonb_agg(jsonb_build_object('uid', s.uid, 'weight', 1)) FROM sending_server s
                                            WHERE s.customer_id = campaign.customer_id)
     WHERE id = ${to.campaignId}`);
}

test('each server that would send must know the sender, unless their accounts share senders', async () => {
  for (const type of ['amazon-api', 'shared-api']) {
    const { world } = await worldWith(['sender.example'], { type });
    const { world: other } = await worldWith(['house.test'], { type });
    await addServer(other, world);
    const starting = startCampaign(world.ctx, world.campaignUid);
    if (type === 'shared-api') await starting;
    else
      await expect(starting).rejects.toMatchObject({
        fields: { fromEmail: [expect.stringContaining('The sending server "Second" does not send')] },
      });
  }
});

/** Time stands still, however long a busy machine takes: it goes on as it is told, and nothing else happens. */
function passes() {
  const begun = performance.now();
  let passed = 0;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => begun + passed);
  onTestFinished(() => spy.mockRestore());
  return (seconds: number) => void (passed += seconds * 1_000);
}
const sentence = async ({ ctx: own }: CampaignWorld, email = 'news@sender.example') =>
  (await checkSender(own, { email })).problems.find((problem) => problem.includes('its vendor has not verified'));

test('many who ask at once ask the vendor once, and each gets the answer', async () => {
  const { world, lists } = await worldWith(['house.test'], { type: 'slow-api' });
  const sentences = await Promise.all(Array.from({ length: 30 }, () => sentence(world)));
  expect(sentences.filter((found) => found !== undefined)).toHaveLength(30);
  expect(lists()).toBe(1);
});

test('a failed question leaves the answer, for a minute; what is older stops nobody', async () => {
  const { vendor, world, lists } = await worldWith(['house.test']);
  const pass = passes();
  expect(await sentence(world)).toContain('nor the address');
  vendor.answerOthersBy(() => sesError(429, 'TooManyRequestsException', 'slower'));
  pass(11);
  expect(await sentence(world)).toBeDefined();
  expect(lists()).toBe(2);
  pass(20);
  expect(await sentence(world)).toBeDefined();
  // A vendor in trouble is left alone.
  expect(lists()).toBe(2);
  pass(41);
  await startCampaign(world.ctx, world.campaignUid);
  expect(await statusOf(world)).toBe('queued');
});

/** As somebody does while nobody has got it. */
async function pausedUnsent(identities: readonly string[]) {
  const made = await worldWith(identities);
  await startCampaign(made.world.ctx, made.world.campaignUid);
  await ctx.db.execute(sql`
    UPDATE campaign SET status = 'paused', snapshot_at = now(), snapshot_on = current_date WHERE id = ${made.world.campaignId}`);
  return made;
}

test('a late change of the sender asks the vendor, as a start does', async () => {
  const { vendor, world } = await pausedUnsent(['sender.example']);
  const pass = passes();
  // What was known is too old to count.
  pass(301);
  const change = () => updateCampaign(world.ctx, world.campaignUid, { fromEmail: 'news@other.example' });
  await expect(change()).rejects.toMatchObject({
    ...{ code: 'CAMPAIGN_NOT_READY', fields: { fromEmail: [expect.stringContaining('news@other.example')] } },
  });
  const EmailIdentities = [{ IdentityType: 'DOMAIN', IdentityName: 'other.example', SendingEnabled: true }];
  vendor.answerOthersBy(() => ({ status: 200, body: { EmailIdentities } }));
  pass(11);
  await change();
});

test('resuming one that has begun asks nobody: nothing would read the answer', async () => {
  const { world, lists } = await pausedUnsent(['sender.example']);
  passes()(301);
  await resumeCampaign(world.ctx, world.campaignUid);
  expect(lists()).toBe(1);
});

test('at a vendor that does not show all senders only a domain that is listed as not verified stops a campaign', async () => {
  const vendor = await startSendGridVendor();
  afterFile(() => vendor.close());
  const domain = { id: 2, domain: 'pending.example', valid: false, dns: {} };
  vendor.answerOthersBy(({ path: asked }) =>
    asked === '/v3/whitelabel/domains' ? { status: 200, body: [domain] } : undefined,
  );
  const worldFrom = (fromEmail: string) =>
    vendorCampaign(ctx, { vendor, type: 'sendgrid-api', recipients: 2, fromEmail });
  for (const from of ['news@assigned.example', 'news@deep.pending.example', 'ann@house.test']) {
    const world = await worldFrom(from);
    await startCampaign(world.ctx, world.campaignUid);
    expect(await statusOf(world)).toBe('queued');
  }
  const world = await worldFrom('news@pending.example');
  await expect(startCampaign(world.ctx, world.campaignUid)).rejects.toMatchObject({ code: 'CAMPAIGN_NOT_READY' });
});
