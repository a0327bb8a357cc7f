/** A backup of an installation that was sending, restored beside it: it sends nothing until somebody has confirmed. */
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, it } from 'vitest';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { afterFile } from '../support/after-file.ts';
import { campaignWorld, copiesByRecipient, untilStatus } from '../support/campaign-world.ts';
import { startProgram, type Program } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';
import { administer, databaseUrl } from '../support/test-server.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const RECIPIENTS = 400;

async function ask(program: Program, query: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${program.baseUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${program.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { data } = await answer.json();
  return data;
}

it('mails nobody from a restored backup, and goes on at once where it always was', async () => {
  const taken: { to: string }[] = [];
  await using smtp = await scriptedSmtpServer({
    answer: ({ verb, session }) => {
      if (verb !== 'CONTENT') return undefined;
      taken.push({ to: session.to ?? '' });
      setTimeout(() => session.socket.write('250 taken\r\n'), 10);
      return null;
    },
  });
  const server = { connections: 1, window: 1 };
  const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: smtp.port, server });
  const first = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'web,worker' });
  await startCampaign(world.ctx, world.campaignUid);
  while (taken.length < 20) await sleep(10);
  expect((await first.stop()).code).toBe(0);

  const name = `mailwright_test_${randomBytes(6).toString('hex')}`;
  await ctx.database.pool.query('SELECT 1');
  await copyDatabase(new URL(ctx.database.url).pathname.slice(1), name);
  const sent = taken.length;
  expect(sent).toBeLessThan(RECIPIENTS);
  const restored = await startProgram({ DATABASE_URL: databaseUrl(inject('testServerUrl'), name) });
  const ready = await fetch(`${restored.baseUrl}/readyz`);
  const body = await ready.json();
  expect([ready.status, body], JSON.stringify(body)).toMatchObject([
    200,
    { notes: [expect.stringContaining('on hold')] },
  ]);
  // The queue's look-ups and the clock's minute are all there would be to begin with; three seconds are many of the first.
  await sleep(3_000);
  expect(taken.length).toBe(sent);
  expect(
    await ask(restored, '{ installation { ... on Installation { hold { reason } processes { isWorking } } } }'),
  ).toMatchObject({
    installation: { hold: { reason: expect.stringContaining('dump') } },
  });
  expect(restored.output()).toContain('installation.held');
  const release =
    'mutation { endHold(input: { underWay: PAUSE }) { ... on ReleasedInstallation { campaignsPaused mailsDropped { kind listUid count } } } }';
  expect(await ask(restored, release)).toMatchObject({ endHold: { campaignsPaused: 1, mailsDropped: [] } });
  await restored.stop();
  expect(taken.length).toBe(sent);

  await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'worker' });
  await untilStatus(world, 'done');
  const copies = copiesByRecipient(taken);
  expect([copies.size, Math.max(...copies.values())]).toEqual([RECIPIENTS, 1]);
});

/** As a dump that is loaded into another database: the same rows, other places. */
async function copyDatabase(from: string, to: string): Promise<void> {
  const url = inject('testServerUrl');
  await administer(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${from}' AND pid <> pg_backend_pid()`,
  );
  await administer(url, `CREATE DATABASE ${to} TEMPLATE ${from} STRATEGY file_copy`);
  afterFile(() => administer(url, `DROP DATABASE IF EXISTS ${to} WITH (FORCE)`));
}
