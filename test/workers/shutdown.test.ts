/** Worker processes that are asked to stop: while a server keeps them waiting (H15), and one after the other (A13). */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { isAlive } from '../../src/lib/is-alive.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { campaignWorld, copiesByRecipient, statusOf, untilStatus } from '../support/campaign-world.ts';
import { startProgram, type Program } from '../support/program.ts';
import { scriptedSmtpServer, type SmtpEvent } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const settings = { DATABASE_URL: ctx.database.url, ROLES: 'worker' };

/** Fifty by hand: ROLLING_RESTARTS=50 npx vitest run test/workers/shutdown.test.ts */
const RESTARTS = Number(process.env['ROLLING_RESTARTS'] ?? 2);
const RECIPIENTS_PER_RESTART = 40;
const REPLY_MS = 60;

it('stops in its time although a server never answers', async () => {
  let isAsked = false;
  await using smtp = await scriptedSmtpServer({
    answer: ({ verb }) => {
      if (verb !== 'CONTENT') return undefined;
      isAsked = true;
      return null;
    },
  });
  const world = await campaignWorld(ctx, { recipients: 3, smtpPort: smtp.port });
  const worker = await startProgram({ ...settings, STOP_GRACE_SECONDS: '3' });
  await startCampaign(world.ctx, world.campaignUid);
  while (!isAsked) await sleep(10);
  const { code, ms } = await worker.stop();
  expect(code).toBe(0);
  expect(ms).toBeLessThan(onBusyMachine(10_000));
  await ctx.db.execute(sql`UPDATE campaign SET status = 'paused' WHERE id = ${world.campaignId}`);
});

it(
  'leaves nothing in doubt when workers are replaced while they send',
  async () => {
    // Whether whom each was asked of had said by then that it stops.
    const asked: boolean[] = [];
    let worker: Program | undefined;
    const copies: string[] = [];
    await using smtp = await scriptedSmtpServer({
      extensions: ['PIPELINING'],
      answer: ({ verb, session }: SmtpEvent) => {
        if (verb !== 'CONTENT') return undefined;
        asked.push(worker?.output().includes('app.stopping') ?? false);
        copies.push(session.to ?? '');
        setTimeout(() => session.socket.write('250 taken\r\n'), REPLY_MS);
        return null;
      },
    });
    const server = { connections: 2, window: 1 };
    const world = await campaignWorld(ctx, {
      recipients: RESTARTS * RECIPIENTS_PER_RESTART,
      smtpPort: smtp.port,
      server,
    });
    worker = await startProgram(settings);
    await startCampaign(world.ctx, world.campaignUid);
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const before = asked.length;
      while (asked.length < before + 20) await sleep(10);
      expect((await worker.stop()).code).toBe(0);
      // What was handed over already begins at once, one on each connection; nothing new does.
      const late = asked.slice(before).filter((hasSaidSo) => hasSaidSo);
      expect(late.length).toBeLessThanOrEqual(2 * server.connections);
      worker = await startProgram(settings);
    }
    await untilStatus(world, 'done');
    const [unknownOutcomes] = await queryRows<{ rows: number }>(
      ctx.db,
      sql`SELECT count(*)::int AS rows FROM hot.delivery WHERE source_id = ${world.campaignId} AND (ambiguous_count > 0 OR state = 'unknown')`,
    );
    expect(unknownOutcomes?.rows).toBe(0);
    const counts = copiesByRecipient(copies.map((to) => ({ to })));
    expect(counts.size).toBe(RESTARTS * RECIPIENTS_PER_RESTART);
    expect(Math.max(...counts.values())).toBe(1);
    await worker.stop();
  },
  600_000 + RESTARTS * 40_000,
);

it('keeps further processes that work: killed ones come back, all stop with the program', async () => {
  await using smtp = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
  const world = await campaignWorld(ctx, { recipients: 300, smtpPort: smtp.port });
  const program = await startProgram({ ...settings, WORKERS: '2', SEND_BATCH_SIZE: '50' });
  const started = () =>
    [...program.output().matchAll(/"event":"workers.started".*?"pid":(\d+)/g)].map(([, pid]) => Number(pid));
  const working = () => program.output().split('"event":"app.working"').length - 1;
  while (working() < 1) await sleep(20);
  // Every line of the other process is a whole line of the program's log, and says whose it is.
  const line = program
    .output()
    .split('\n')
    .find((text) => text.includes('app.working'));
  expect(JSON.parse(line ?? '')).toMatchObject({ worker: 2 });
  process.kill(started()[0] ?? 0, 'SIGKILL');
  while (working() < 2) await sleep(20);
  expect(program.output()).toContain('"event":"workers.died"');
  await startCampaign(world.ctx, world.campaignUid);
  while ((await statusOf(world)) !== 'done') await sleep(50);
  expect(copiesByRecipient(smtp.accepted).size).toBe(300);
  // Whoever is in a hurry is so with all of them.
  expect((await program.stop('SIGINT')).code).toBe(0);
  expect(program.output()).toMatch(/"app.stopping".*"worker":2.*"SIGINT"/);
  expect(started()).toHaveLength(2);
  expect(started().filter((pid) => isAlive(pid))).toEqual([]);
});
