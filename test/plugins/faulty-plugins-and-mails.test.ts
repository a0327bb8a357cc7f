/** A campaign while plugins end the program that sends it: nobody is lost, and nobody gets a mail twice. Also with little memory. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { balanceOf, campaignWorld, copiesByRecipient, untilStatus } from '../support/campaign-world.ts';
import { startFaultyWorld } from '../support/faulty-world.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';

const RECIPIENTS = 3_000;
const [CONNECTIONS, WINDOW] = [2, 4];

test('a campaign in the middle of which plugins end the program three times', async () => {
  const ctx = await createTestContext();
  await loadPlugins(path.resolve('plugins'), ctx.hooks);
  await using smtp = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
  const world = await campaignWorld(ctx, {
    recipients: RECIPIENTS,
    smtpPort: smtp.port,
    server: { connections: CONNECTIONS, window: WINDOW },
    campaign: { unknownPolicy: 'park' },
  });
  const faulty = await startFaultyWorld({
    ...{ DATABASE_URL: ctx.database.url, ROLES: 'web,worker,cron', SEND_LEASE_SECONDS: '3' },
    ...{ SEND_BATCH_SIZE: '100', SEND_RETRY_DELAY_SECONDS: '1', WORKER_CONCURRENCY: '2' },
  });
  const harms = ['process.exit(1);', 'process.abort();', 'for (;;);'];
  // They wait for their file before they do anything.
  await startCampaign(world.ctx, world.campaignUid);
  for (const [place, code] of harms.entries()) {
    const times = faulty.starts();
    while (smtp.accepted.length < (RECIPIENTS * (place + 1)) / (harms.length + 2)) await sleep(5);
    await faulty.harm(`acme/harm-${place}`, code);
    await faulty.untilRestarted(code, times);
    expect(await faulty.logged('process.ended', `acme/harm-${place}`)).toBeDefined();
  }
  await untilStatus(world, 'done');

  const balance = await balanceOf(world);
  const copies = copiesByRecipient(smtp.accepted);
  console.log(`${RECIPIENTS} recipients: ${balance.sent} sent, ${balance.unknown} with an unknown outcome`);
  expect(balance.sent + balance.unknown).toBe(RECIPIENTS);
  expect(balance.unknown).toBeLessThanOrEqual(CONNECTIONS * WINDOW * harms.length);
  expect([...copies.values()].filter((count) => count > 1)).toEqual([]);
  const rows = await queryRows<{ email: string; state: string }>(
    ctx.db,
    sql`SELECT email, state::text AS state FROM hot.delivery WHERE source_id = ${world.campaignId}`,
  );
  expect(rows).toHaveLength(RECIPIENTS);
  for (const { email, state } of rows) if (state === 'sent') expect(copies.get(email), email).toBe(1);
}, 300_000);

test('a plugin that uses up the memory is named', async () => {
  const world = await startFaultyWorld({ NODE_OPTIONS: '--max-old-space-size=220' });
  const times = world.starts();
  await world.harm('acme/grows', 'const all = []; for (;;) all.push({ x: [1, 2, 3, 4] });');
  await world.untilRestarted('out of memory', times);
  expect(await world.logged('process.ended', 'acme/grows')).toMatchObject({ by: 'SIGABRT' });
  expect(await world.stored('acme/grows')).toMatchObject({ status: 'active', ends: 1 });
  await world.program.stop();
});
