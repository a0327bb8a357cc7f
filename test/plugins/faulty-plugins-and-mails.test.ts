/**
 * A campaign while twelve plugins harm the program that sends it: nobody is lost, and nobody gets a mail twice. The test prints how long the
 * API did not answer after each. The receiver is slow until the last one, so that the campaign is under way all the time.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { balanceOf, campaignWorld, copiesByRecipient, untilStatus } from '../support/campaign-world.ts';
import { startFaultyWorld, type FaultyWorld } from '../support/faulty-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { writePlugin } from '../support/plugin-folder.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';

/** More than the receiver takes in the time of all harms. */
const RECIPIENTS = 20_000;
const [CONNECTIONS, WINDOW] = [2, 4];
const SLOW_MS = 150;

/** What ends the process, and what it says of that. */
const ENDING = [
  ['process.exit', 'process.exit(1);'],
  ['process.abort', 'process.abort();'],
  ['endless loop', 'for (;;);'],
  ['out of memory', 'const all = []; for (;;) all.push({ x: [1, 2, 3, 4] });'],
  ['patched built-ins', 'Array.prototype.map = () => process.exit(9);'],
] as const;

const LASTING = [
  ['late throw', `setTimeout(() => { throw new Error('thrown late'); }, 1);`],
  ['rejection', `void Promise.reject(new Error('rejected'));`],
  ['10,000 timers', 'for (let i = 0; i < 10_000; i++) setInterval(() => undefined, 1_000);'],
  ['never-resolved promise', 'new Promise(() => undefined).then(() => undefined);'],
  ['huge log', `for (let i = 0; i < 50_000; i++) console.log('x'.repeat(200));`],
  [
    'undeclared scope and host',
    `void services.graphql('{ lists { __typename } }', {}, { customerUid: 'x' }).catch(() => undefined);
     void services.fetch('https://other.example').catch(() => undefined);`,
  ],
] as const;

/** Those that are refused before they can do anything. */
const REFUSED = [
  ['throw at load', { code: `throw new Error('broken');` }, 'broken'],
  [
    'undeclared hook',
    {
      code: `export const plugin = { name: 'acme/refused', boot: (hooks) => hooks.on('customer_added', () => 0) };`,
      rights: { hooks: [] },
    },
    'customer_added',
  ],
  [
    'another\u2019s table',
    { migrations: { '1_a.sql': 'ALTER TABLE customer ADD COLUMN acme_a int;' } },
    'changes the table public.customer',
  ],
] as const;

async function lastingHarms(world: FaultyWorld): Promise<void> {
  for (const [what, files, reason] of REFUSED) {
    writePlugin(world.dataDir, 'acme/refused', files);
    world.outages.longest();
    expect(JSON.stringify(await pluginClient(world.program).activate('acme/refused'))).toContain(reason);
    console.log(`${what}: refused; the API did not answer for ${world.outages.longest().toFixed(1)} s`);
  }
  for (const [place, [what, code]] of LASTING.entries()) {
    await world.harm(`acme/lasts-${place}`, code);
    await sleep(1_500);
    console.log(`${what}: the API did not answer for ${world.outages.longest().toFixed(1)} s`);
    // 10,000 timers are not taken back: what follows is measured without them.
    await pluginClient(world.program).deactivate(`acme/lasts-${place}`);
  }
}

test('a campaign in the middle of which twelve plugins do harm', async () => {
  const ctx = await createTestContext();
  await loadPlugins(path.resolve('plugins'), ctx.hooks);
  let delayMs = SLOW_MS;
  const taken: { to: string }[] = [];
  await using smtp = await scriptedSmtpServer({
    extensions: ['PIPELINING'],
    answer: ({ verb, session }) => {
      if (verb !== 'CONTENT') return undefined;
      taken.push({ to: session.to ?? '' });
      setTimeout(() => session.socket.write('250 taken\r\n'), delayMs);
      return null;
    },
  });
  const world = await campaignWorld(ctx, {
    recipients: RECIPIENTS,
    smtpPort: smtp.port,
    server: { connections: CONNECTIONS, window: WINDOW },
    campaign: { unknownPolicy: 'park' },
  });
  const faulty = await startFaultyWorld({
    ...{ DATABASE_URL: ctx.database.url, ROLES: 'web,worker,cron', SEND_LEASE_SECONDS: '3', SEND_BATCH_SIZE: '100' },
    ...{ SEND_RETRY_DELAY_SECONDS: '1', WORKER_CONCURRENCY: '2', NODE_OPTIONS: '--max-old-space-size=260' },
  });
  await startCampaign(world.ctx, world.campaignUid);
  await lastingHarms(faulty);
  expect(faulty.starts()).toBe(1);
  for (const [place, [what, code]] of ENDING.entries()) {
    const [times, sent] = [faulty.starts(), taken.length];
    while (taken.length < sent + 20) await sleep(5);
    await faulty.harm(`acme/ends-${place}`, code);
    await faulty.untilRestarted(what, times);
    if (what !== 'patched built-ins') expect(await faulty.logged('process.ended', `acme/ends-${place}`)).toBeDefined();
  }
  expect(taken.length).toBeLessThan(RECIPIENTS);
  delayMs = 0;
  await untilStatus(world, 'done');

  const balance = await balanceOf(world);
  const copies = copiesByRecipient(taken);
  console.log(`${RECIPIENTS} recipients: ${balance.sent} sent, ${balance.unknown} with an unknown outcome`);
  expect(balance.sent + balance.unknown).toBe(RECIPIENTS);
  expect(balance.unknown).toBeLessThanOrEqual(CONNECTIONS * WINDOW * ENDING.length);
  expect([...copies.values()].filter((count) => count > 1)).toEqual([]);
  const rows = await queryRows<{ email: string; state: string }>(
    ctx.db,
    sql`SELECT email, state::text AS state FROM hot.delivery WHERE source_id = ${world.campaignId}`,
  );
  expect(rows).toHaveLength(RECIPIENTS);
  for (const { email, state } of rows) if (state === 'sent') expect(copies.get(email), email).toBe(1);
}, 900_000);

test('a plugin that uses up the memory is named', async () => {
  const world = await startFaultyWorld({ NODE_OPTIONS: '--max-old-space-size=220' });
  const times = world.starts();
  await world.harm('acme/grows', 'const all = []; for (;;) all.push({ x: [1, 2, 3, 4] });');
  await world.untilRestarted('out of memory', times);
  expect(await world.logged('process.ended', 'acme/grows')).toMatchObject({ by: 'SIGABRT' });
  expect(await world.stored('acme/grows')).toMatchObject({ status: 'active', ends: 1 });
  await world.program.stop();
}, 600_000);
