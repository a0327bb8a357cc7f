/** Notices and tests when the first server cannot be used: the next one carries them at once, as it does a campaign. */
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { sendTestCampaign } from '../../../src/domain/campaigns/send-test-campaign.ts';
import { updateCampaign } from '../../../src/domain/campaigns/update-campaign.ts';
import { NO_CONTACT } from '../../../src/domain/content/message.ts';
import { sendTestMessages } from '../../../src/domain/delivery/send-test-messages.ts';
import { sendTransactional } from '../../../src/domain/delivery/send-transactional.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { endPlan } from '../../support/plans.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const drivers = createDriverPool(ctx.hooks);
afterAll(() => drivers.close());

const NOBODY_LISTENS = 1;

/** A tenant whose first server is down; `addSecond` gives it another. */
async function brokenWorld(smtpPort = NOBODY_LISTENS) {
  const world = await campaignWorld(ctx, { recipients: 1, smtpPort });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
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
  const notice = (purpose: string) =>
    sendTransactional(world.ctx, drivers, {
      ...{ customerId, customerUid: 'c', list: { uid: 'l', name: 'L', contact: NO_CONTACT }, purpose },
      ...{ from: { name: 'A', email: 'a@sender.example' }, subject: 'Confirm', html: '<p>x</p>' },
      to: { email: 'new@example.org', uid: 's', fields: {} },
    });
  const test = async () => {
    await sendTestCampaign(world.ctx, { uid: world.campaignUid, emails: ['me@example.org'] });
    const rows = await queryRows<{ id: bigint }>(
      ctx.db,
      sql`SELECT id FROM test_message WHERE campaign_id = ${world.campaignId} ORDER BY id DESC LIMIT 1`,
    );
    const key = { customerId, campaignId: world.campaignId };
    return sendTestMessages(ctx, { ...key, testIds: rows.map(({ id }) => id) }, { drivers, isLastTry: false });
  };
  return { ...world, customerId, firstUid: first?.uid ?? '', addSecond, failures, notice, test };
}

it('a test that was queued before the subscription ended is not sent after it', async () => {
  await using server = await scriptedSmtpServer();
  const world = await brokenWorld(server.port);
  await world.test();
  expect(server.accepted).toHaveLength(1);
  await sendTestCampaign(world.ctx, { uid: world.campaignUid, emails: ['late@example.org'] });
  await endPlan(ctx.db, world.customerId);
  const due = sql`SELECT id, state, reason FROM test_message WHERE campaign_id = ${world.campaignId} AND email = 'late@example.org'`;
  const testIds = (await queryRows<{ id: bigint }>(ctx.db, due)).map(({ id }) => id);
  const key = { customerId: world.customerId, campaignId: world.campaignId };
  await sendTestMessages(ctx, { ...key, testIds }, { drivers, isLastTry: false });
  expect(server.accepted).toHaveLength(1);
  expect(await queryRows(ctx.db, due)).toMatchObject([{ state: 'failed', reason: 'no_plan' }]);
});

it('a notice goes out through the next server, and the first one is known to be in trouble', async () => {
  await using second = await scriptedSmtpServer();
  const world = await brokenWorld();
  await expect(world.notice('alone')).rejects.toMatchObject({ kind: 'unavailable' });
  await world.addSecond(second.port);
  await world.notice('two');
  expect(second.accepted.map(({ to }) => to)).toEqual(['new@example.org']);
  await expect.poll(world.failures).toBeGreaterThan(0);
});

it('a message that the first server refuses or may have taken goes to no other', async () => {
  for (const reply of ['550 5.1.1 no such user', '451 4.3.0 later', null]) {
    await using first = await scriptedSmtpServer({
      answer: ({ verb, session }) => {
        if (verb !== 'CONTENT') return undefined;
        if (reply === null) session.socket.destroy();
        return reply;
      },
    });
    await using second = await scriptedSmtpServer();
    const world = await brokenWorld();
    await ctx.db
      .execute(sql`UPDATE sending_server SET settings = settings || ${JSON.stringify({ port: first.port })}::jsonb
                              WHERE uid = ${world.firstUid}`);
    await world.addSecond(second.port);
    await expect(world.notice('once')).rejects.toMatchObject({ name: 'SendingError' });
    expect(second.accepted).toEqual([]);
  }
});

it.each([
  ['does not relay', '550 5.7.1 Relaying denied'],
  ['does not know us', '554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied'],
])('a notice and a test go through the next server when the first one %s', async (_what, refusal) => {
  await using first = await scriptedSmtpServer({ answer: ({ verb }) => (verb === 'RCPT' ? refusal : undefined) });
  await using second = await scriptedSmtpServer();
  const world = await brokenWorld(first.port);
  await expect(world.notice('alone')).rejects.toMatchObject({ kind: 'unavailable' });
  await world.addSecond(second.port);
  await world.notice('two');
  await world.test();
  expect(second.accepted.map(({ to }) => to)).toEqual(['new@example.org', 'me@example.org']);
  await expect.poll(world.failures).toBeGreaterThan(0);
});

it('so does the test of a campaign, unless the campaign names the server', async () => {
  await using second = await scriptedSmtpServer();
  const world = await brokenWorld();
  await world.addSecond(second.port);
  await world.test();
  expect(second.accepted.map(({ to }) => to)).toEqual(['me@example.org']);
  await updateCampaign(world.ctx, world.campaignUid, { sendingServers: [{ uid: world.firstUid, weight: 1 }] });
  await expect(world.test()).rejects.toThrow('A test could not be sent at present');
});
