/**
 * A database, or a pooler before it, that hangs and goes on confirming packets: the program is back within seconds of the first
 * connection that works, says meanwhile that it is not ready, loses and doubles nobody, and can be stopped.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { campaignWorld, copiesByRecipient, untilStatus } from '../support/campaign-world.ts';
import { startFreezingProxy, type FreezingProxy } from '../support/freezing-proxy.ts';
import { startProgram, type Program } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const BACK_MS_MAX = onBusyMachine(15_000);
const STOP_MS_MAX = onBusyMachine(25_000);

async function throughProxy(): Promise<{ proxy: FreezingProxy; url: string }> {
  const url = new URL(ctx.database.url);
  const proxy = await startFreezingProxy(Number(url.port));
  url.port = String(proxy.port);
  return { proxy, url: url.href };
}

const statusOf = (program: Program, route: string): Promise<number> =>
  fetch(`${program.baseUrl}${route}`, { headers: { authorization: `Bearer ${program.token}` } }).then(
    async (answer) => (await answer.arrayBuffer(), answer.status),
  );

async function msUntil(isSo: () => Promise<boolean> | boolean): Promise<number> {
  const startedAt = performance.now();
  while (!(await isSo())) await sleep(100);
  return performance.now() - startedAt;
}

it('is back after old connections, and all of them, were frozen in the middle of sending; nobody is lost or gets two', async () => {
  const RECIPIENTS = 1_500;
  const taken: { to: string }[] = [];
  await using smtp = await scriptedSmtpServer({
    answer: ({ verb, session }) => {
      if (verb !== 'CONTENT') return undefined;
      taken.push({ to: session.to ?? '' });
      setTimeout(() => session.socket.write('250 taken\r\n'), 20);
      return null;
    },
  });
  const { proxy, url } = await throughProxy();
  const world = await campaignWorld(ctx, {
    recipients: RECIPIENTS,
    smtpPort: smtp.port,
    server: { connections: 2, window: 1 },
  });
  const program = await startProgram({ DATABASE_URL: url });
  await startCampaign(world.ctx, world.campaignUid);
  const goesOn = async (): Promise<boolean> => {
    const before = taken.length;
    return (await msUntil(() => taken.length > before + 50)) >= 0;
  };
  await goesOn();

  proxy.freeze('old');
  await sleep(1_000);
  const backMs = await Promise.all([
    msUntil(async () => (await statusOf(program, '/api/v1/lists')) === 200),
    msUntil(goesOn),
    msUntil(async () => (await statusOf(program, '/readyz')) === 200),
  ]);
  expect(Math.max(...backMs)).toBeLessThan(BACK_MS_MAX);

  proxy.freeze('all');
  const answered: number[] = [];
  const toldMs = await msUntil(async () => {
    const requestedAt = performance.now();
    const status = await statusOf(program, '/readyz');
    answered.push(performance.now() - requestedAt);
    return status === 503;
  });
  const refusedMs = await msUntil(async () => (await statusOf(program, '/api/v1/lists')) === 503);
  expect([toldMs, refusedMs].map((ms) => ms < BACK_MS_MAX)).toEqual([true, true]);
  expect(Math.max(...answered)).toBeLessThan(onBusyMachine(4_000));
  await sleep(3_000);
  proxy.thaw();
  const againMs = await Promise.all([
    msUntil(async () => (await statusOf(program, '/api/v1/lists')) === 200),
    msUntil(goesOn),
    msUntil(async () => (await statusOf(program, '/readyz')) === 200),
  ]);
  expect(Math.max(...againMs)).toBeLessThan(BACK_MS_MAX);
  await untilStatus(world, 'done');
  const copies = copiesByRecipient(taken);
  expect([copies.size, Math.max(...copies.values())]).toEqual([RECIPIENTS, 1]);
}, 900_000);

it('stops in bounded time while nothing answers, in the middle of sending', async () => {
  let taken = 0;
  await using smtp = await scriptedSmtpServer({
    answer: ({ verb }) => {
      if (verb === 'CONTENT') taken += 1;
      return undefined;
    },
  });
  const { proxy, url } = await throughProxy();
  const world = await campaignWorld(ctx, { recipients: 20_000, smtpPort: smtp.port });
  const program = await startProgram({ DATABASE_URL: url });
  await startCampaign(world.ctx, world.campaignUid);
  await msUntil(() => taken > 50);
  proxy.freeze('all');
  const { ms } = await program.stop();
  expect(program.output()).toContain('The database does not answer.');
  expect(ms).toBeLessThan(STOP_MS_MAX);
});
