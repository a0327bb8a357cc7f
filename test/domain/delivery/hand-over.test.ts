/** Notices and tests when the first server cannot be used: the next one carries them at once, as it does a campaign. */
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { sendTestCampaign } from '../../../src/domain/campaigns/send-test-campaign.ts';
import { updateCampaign } from '../../../src/domain/campaigns/update-campaign.ts';
import { latestTestsOfEach } from '../../../src/domain/delivery/campaigns/test-message-store.ts';
import { enqueueSystemMails } from '../../../src/domain/delivery/messages/system-mail.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { messageRows, runSender } from '../../support/message-world.ts';
import { endPlan } from '../../support/plans.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';

const NOBODY_LISTENS = 1;

/** A tenant whose first server is down; `addSecond` gives it another. */
async function brokenWorld(smtpPort = NOBODY_LISTENS, isOperator = true) {
  const ctx = await createTestContext();
  await loadPlugins(path.resolve('plugins'), ctx.hooks);
  const world = await campaignWorld(ctx, { recipients: 1, smtpPort });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  // The notices of the program go through the operator's own servers.
  await ctx.db.execute(sql`UPDATE customer SET is_operator = (id = ${customerId} AND ${isOperator})`);
  const [first] = await queryRows<{ id: bigint; uid: string }>(
    ctx.db,
    sql`SELECT id, uid FROM sending_server WHERE customer_id = ${customerId}`,
  );
  const addSecond = (port: number) =>
    ctx.db.execute(sql`
      INSERT INTO sending_server (customer_id, uid, name, type, settings, connections_max)
      VALUES (${customerId}, ${newUid()}, 'Second', 'smtp', ${JSON.stringify({ host: '127.0.0.1', port, encryption: 'none' })}::jsonb, 2)`);
  const failures = async () => {
    const [row] = await queryRows<{ failures: number }>(
      ctx.db,
      sql`SELECT failures FROM hot.sending_health WHERE server_id = ${first?.id ?? 0n} AND mailbox_group = ''`,
    );
    return row?.failures ?? 0;
  };
  const notice = (job: string) =>
    enqueueSystemMails(ctx, job, [{ to: 'new@example.org', subject: 'Confirm', paragraphs: ['x'] }]);
  const test = (email: string) => sendTestCampaign(world.ctx, { uid: world.campaignUid, emails: [email] });
  const tests = async () => {
    const [found = []] = await latestTestsOfEach(ctx.db, { customerId, campaignIds: [world.campaignId] }, 10);
    return found;
  };
  return { ...world, root: ctx, customerId, firstUid: first?.uid ?? '', addSecond, failures, notice, test, tests };
}

type World = Awaited<ReturnType<typeof brokenWorld>>;

const states = async ({ root }: World) =>
  (await messageRows(root)).map(({ state, reason }) => [state, reason] as const);
const until = (world: World, expected: unknown) =>
  vi.waitFor(async () => expect(await states(world)).toMatchObject(expected as object), { timeout: 120_000 });

it('a test that was queued before the subscription ended is not sent after it', async () => {
  await using server = await scriptedSmtpServer();
  const world = await brokenWorld(server.port, false);
  await world.test('late@example.org');
  await endPlan(world.root.db, world.customerId);
  await using _sender = await runSender(world.root);
  await until(world, [['skipped', 'no_plan']]);
  expect(server.accepted).toHaveLength(0);
  expect(await world.tests()).toMatchObject([{ email: 'late@example.org', state: 'failed', reason: 'no_plan' }]);
});

it('a notice goes out through the next server, and the first one is known to be in trouble', async () => {
  await using second = await scriptedSmtpServer();
  const world = await brokenWorld();
  await using _sender = await runSender(world.root);
  await world.notice('1');
  await until(world, [['queued', expect.any(String)]]);
  await world.addSecond(second.port);
  await until(world, [['sent', null]]);
  expect(second.accepted.map(({ to }) => to)).toEqual(['new@example.org']);
  await expect.poll(world.failures).toBeGreaterThan(0);
});

it.each([
  ['550 5.1.1 no such user', 'failed'],
  ['451 4.3.0 later', 'queued'],
  [null, 'queued'],
])('a message that the first server refuses or may have taken goes to no other: %s', async (reply, state) => {
  await using first = await scriptedSmtpServer({
    answer: ({ verb, session }) => {
      if (verb !== 'CONTENT') return undefined;
      if (reply === null) session.socket.destroy();
      return reply;
    },
  });
  await using second = await scriptedSmtpServer();
  const world = await brokenWorld(first.port);
  await world.addSecond(second.port);
  await using _sender = await runSender(world.root);
  await world.notice('once');
  await vi.waitFor(async () => expect((await messageRows(world.root))[0]?.attempts).toBe(1), { timeout: 120_000 });
  expect(await states(world)).toMatchObject([[state, expect.any(String)]]);
  expect(second.accepted).toEqual([]);
});

it.each([
  ['does not relay', '550 5.7.1 Relaying denied'],
  ['does not know us', '554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied'],
])('a notice and a test go through the next server when the first one %s', async (_what, refusal) => {
  await using first = await scriptedSmtpServer({ answer: ({ verb }) => (verb === 'RCPT' ? refusal : undefined) });
  await using second = await scriptedSmtpServer();
  const world = await brokenWorld(first.port);
  await world.addSecond(second.port);
  await using _sender = await runSender(world.root);
  await world.notice('two');
  await world.test('me@example.org');
  await until(world, [
    ['sent', null],
    ['sent', null],
  ]);
  expect(second.accepted.map(({ to }) => to).toSorted()).toEqual(['me@example.org', 'new@example.org']);
  await expect.poll(world.failures).toBeGreaterThan(0);
});

it('so does the test of a campaign, unless the campaign names the server', async () => {
  await using second = await scriptedSmtpServer();
  const world = await brokenWorld();
  await world.addSecond(second.port);
  await using _sender = await runSender(world.root);
  await world.test('me@example.org');
  await until(world, [['sent', null]]);
  await updateCampaign(world.ctx, world.campaignUid, { sendingServers: [{ uid: world.firstUid, weight: 1 }] });
  await world.test('you@example.org');
  await until(world, [
    ['sent', null],
    ['queued', expect.any(String)],
  ]);
  expect(second.accepted.map(({ to }) => to)).toEqual(['me@example.org']);
});
