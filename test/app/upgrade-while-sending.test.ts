/**
 * An upgrade in the middle of a campaign (hard case H10): the version before is replaced while it sends, with two migrations that change
 * tables it writes to. Nobody is lost, nobody gets a second copy that the ledger does not explain, and the API is away for some seconds.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { balanceOf, campaignWorld, copiesByRecipient, statusOf, untilStatus } from '../support/campaign-world.ts';
import { expectBalanced, expectExplained } from '../support/ledger-checks.ts';
import { watchOutages } from '../support/outages.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { startWithParent } from '../support/program.ts';
import { packRelease } from '../support/release-archive.ts';
import { scriptedSmtpServer, type SmtpEvent } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';
import { ask, startReleases, untilVersion, upgradeOf } from '../support/upgrade-client.ts';

const RECIPIENTS = 4_000;
/**
 * How long the mail server takes for a message: the more it has taken, the longer, so that the campaign does not end before a version is
 * staged and in use, however long that takes.
 */
const SLOW_MS = 200;
const SLOWEST_MS = 1_000;
/** The promise for ten million rows. */
const DOWNTIME_MS_MAX = 30_000;

const MIGRATIONS = {
  // Tables that the running version writes to at that moment.
  '29991231000001_notes': `ALTER TABLE hot.delivery ADD COLUMN upgrade_test_note text NOT NULL DEFAULT 'none';
    ALTER TABLE campaign ADD COLUMN upgrade_test_note text;`,
  '29991231000002_rest': `CREATE TABLE upgrade_test_rest (id int PRIMARY KEY);
    ALTER TABLE hot.delivery_counter ADD COLUMN upgrade_test_count int NOT NULL DEFAULT 0;
    ALTER TABLE sending_server ADD COLUMN upgrade_test_note text;`,
};

test('a campaign is sent to its end by the version after', async () => {
  const ctx = await createTestContext();
  await loadPlugins(path.resolve('plugins'), ctx.hooks);
  const sentMax = { beforeStaged: RECIPIENTS / 4, beforeSwitch: (RECIPIENTS * 5) / 8 };
  const taken = () => smtp.accepted.length;
  let delay = (): number => (taken() < sentMax.beforeStaged ? SLOW_MS : SLOWEST_MS);
  await using smtp = await scriptedSmtpServer({
    extensions: ['PIPELINING'],
    keepsUnanswered: true,
    answer: ({ verb, session }: SmtpEvent) => {
      const delayMs = delay();
      if (verb !== 'CONTENT' || delayMs === 0) return undefined;
      setTimeout(() => session.socket.destroyed || session.socket.write('250 2.0.0 taken\r\n'), delayMs);
      return null;
    },
  });
  const world = await campaignWorld(ctx, {
    recipients: RECIPIENTS,
    smtpPort: smtp.port,
    server: { connections: 4, window: 4 },
    campaign: { unknownPolicy: 'park' },
  });
  const releases = await startReleases();
  // Nobody is killed: with the usual lease no process that has to wait for the processor loses what it sends.
  const program = await startWithParent({
    ...{ DATABASE_URL: ctx.database.url, DATA_DIR: newDataDir(), ROLES: 'web,worker,cron', WORKERS: '2' },
    ...{ SEND_BATCH_SIZE: '100', SEND_RETRY_DELAY_SECONDS: '1', WORKER_CONCURRENCY: '2' },
    ...releases.settings,
  });
  // Before anything is measured: this process does nothing else meanwhile.
  const release = packRelease({ version: '0.2.0', migrations: MIGRATIONS });
  const outages = watchOutages(program.baseUrl);
  await startCampaign(world.ctx, world.campaignUid);
  const staged = await releases.stage(program, release);
  expect(staged).toMatchObject({ state: 'staged', pending_migrations: Object.keys(MIGRATIONS) });
  const sentWhileStaging = taken();
  expect(sentWhileStaging).toBeGreaterThan(0);
  expect(sentWhileStaging).toBeLessThan(RECIPIENTS / 2);
  expect(outages.longest()).toBeLessThan(onBusyMachine(1));

  delay = () => (taken() < sentMax.beforeSwitch ? 20 : SLOWEST_MS);
  while (taken() < sentWhileStaging + RECIPIENTS / 8) await sleep(5);
  expect(await statusOf(world)).toBe('sending');
  expect(await ask(program, 'POST', '/upgrade/finalize')).toMatchObject({
    ...{ status: 200, body: { upgrade: { state: 'done', pending_migrations: [] } } },
  });
  const sentAtMigration = taken();
  await untilVersion(program, '0.2.0');
  const sentAtSwitch = taken();
  expect(await statusOf(world)).toBe('sending');
  delay = () => 0;
  while ((await statusOf(world)) !== 'done') {
    await expectBalanced(world);
    if ((await statusOf(world)) !== 'sending') break;
    await sleep(20);
  }
  await untilStatus(world, 'done');
  const downtimeS = outages.longest();
  await outages.end();

  const balance = await balanceOf(world);
  const copies = copiesByRecipient(smtp.accepted);
  const doubled = [...copies.values()].filter((count) => count > 1).length;
  console.log(
    `${RECIPIENTS} recipients, ${sentAtMigration} before the switch, ${RECIPIENTS - sentAtSwitch} after it; ` +
      `${balance.sent} sent, ${balance.unknown} unknown, ${doubled} doubled; no answers for ${downtimeS.toFixed(1)} s`,
  );
  expect(balance).toMatchObject({ sent: RECIPIENTS, unknown: 0 });
  expect(copies.size).toBe(RECIPIENTS);
  expect(doubled).toBe(0);
  await expectExplained(world, smtp.accepted);
  expect(downtimeS * 1_000).toBeLessThan(onBusyMachine(DOWNTIME_MS_MAX));
  expect(await upgradeOf(program)).toMatchObject({ state: 'done', running_version: '0.2.0' });
  // The database of tests is not durable, which each start says.
  const errors = program.output().match(/^\{"time".*"level":"error",(?!"event":"database.not_durable").*$/gm);
  expect(errors).toBeNull();
  expect((await program.stop()).code).toBe(0);
}, 900_000);
