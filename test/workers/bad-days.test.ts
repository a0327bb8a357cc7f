/**
 * Bad days of the database while a campaign is sent: connections are cut again and again (HARD-CASES H1), and its disk is
 * full (H4). Longer runs by hand: BAD_DAY_CUTS=24 BAD_DAY_EVERY_MS=5000 npx vitest run test/workers/bad-days.test.ts
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import {
  balanceOf,
  campaignWorld,
  copiesByRecipient,
  untilStatus,
  type CampaignWorld,
} from '../support/campaign-world.ts';
import { startProgram, type Program } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const CUTS = Number(process.env['BAD_DAY_CUTS'] ?? 4);
const CUT_EVERY_MS = Number(process.env['BAD_DAY_EVERY_MS'] ?? 1_500);
const RECIPIENTS = CUTS * 150;
/** Those of the program. */
const connections = sql`SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'mailwright-test'`;

async function slowServer(taken: { to: string }[]) {
  return scriptedSmtpServer({
    extensions: ['PIPELINING'],
    answer: ({ verb, session }) => {
      if (verb !== 'CONTENT') return undefined;
      taken.push({ to: session.to ?? '' });
      setTimeout(() => session.socket.write('250 taken\r\n'), CUT_EVERY_MS / 50);
      return null;
    },
  });
}

/** Asks until it is told to stop; answers every status with whether it came with a Retry-After. */
function requestAllTheTime(program: Program, stop: AbortSignal): Promise<Set<string>> {
  const seen = new Set<string>();
  const asking = async () => {
    while (!stop.aborted) {
      const answer = await fetch(`${program.baseUrl}/api/v1/lists`, {
        headers: { authorization: `Bearer ${program.token}` },
      });
      seen.add(`${answer.status}${answer.headers.has('retry-after') ? ' later' : ''}`);
      await answer.arrayBuffer();
      await sleep(20);
    }
    return seen;
  };
  return asking();
}

/** Nobody lost, and no second copy that is not one of the doubts. */
async function expectExact(world: CampaignWorld, taken: readonly { to: string }[]): Promise<void> {
  const copies = copiesByRecipient(taken);
  const unknownOutcomes = new Map(
    (
      await queryRows<{ email: string; unknownOutcomes: number }>(
        ctx.db,
        sql`SELECT email, ambiguous_count AS "unknownOutcomes" FROM hot.delivery WHERE source_id = ${world.campaignId} AND ambiguous_count > 0`,
      )
    ).map(({ email, unknownOutcomes: count }) => [email, count]),
  );
  const unexplained = [...copies].filter(
    ([to, count]) => count > 1 + (unknownOutcomes.get(to.replace(/[<>]/g, '')) ?? 0),
  );
  expect([copies.size, unexplained]).toEqual([RECIPIENTS, []]);
  expect(await balanceOf(world)).toMatchObject({ audience: RECIPIENTS, sent: RECIPIENTS });
}

it(
  'survives that all connections are cut, again and again',
  async () => {
    const taken: { to: string }[] = [];
    await using smtp = await slowServer(taken);
    const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: smtp.port });
    const program = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'web,worker,cron' });
    const stop = new AbortController();
    const asking = requestAllTheTime(program, stop.signal);
    await startCampaign(world.ctx, world.campaignUid);
    let cut = 0;
    for (let round = 0; round < CUTS; round += 1) {
      await sleep(CUT_EVERY_MS);
      // By then the program has found its way back: the next cut is another one.
      await expect.poll(async () => (await queryRows(ctx.db, connections)).length).toBeGreaterThan(5);
      cut += (await queryRows(ctx.db, sql`SELECT pg_terminate_backend(pid)::text FROM (${connections}) c`)).length;
    }
    await untilStatus(world, 'done').catch((error: unknown) => {
      throw new Error(program.output().slice(-4_000), { cause: error });
    });
    const isReady = async () => (await fetch(`${program.baseUrl}/readyz`)).status;
    await expect.poll(isReady).toBe(200);
    stop.abort();
    expect(cut).toBeGreaterThan(CUTS * 5);
    const defects = program
      .output()
      .split('\n')
      .filter((line) => line.includes('defect'));
    for (const status of await asking) expect(['200', '503 later'], defects.join('\n')).toContain(status);
    await expectExact(world, taken);
    expect((await program.stop()).code).toBe(0);
  },
  600_000 + CUTS * CUT_EVERY_MS,
);
