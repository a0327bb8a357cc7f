/**
 * Gmail's quota in real time (A20): ten minutes of silence, then one message at a time, one more each round. A quarter of
 * an hour, so only by hand: TEN_MINUTES=1 npx vitest run test/workers/ten-minutes.test.ts
 */
import path from 'node:path';
import { expect, it } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { balanceOf, campaignWorld, copiesByRecipient, statusOf } from '../support/campaign-world.ts';
import { startProgram } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';

const RECIPIENTS = 600;
const REST_SECONDS = 600;
const REPLY_MS = 200;
const ROUNDS_SEEN = 6;
const TOLD_SECONDS = 30;

it.runIf(process.env['TEN_MINUTES'])(
  'a provider that says 421 4.7.28 gets nothing for ten minutes, then one message at a time, then one more each round',
  async () => {
    const ctx = await createTestContext();
    await loadPlugins(path.resolve('plugins'), ctx.hooks);
    const startedAt = performance.now();
    /** Seconds since the start at which the provider was asked, and how many were under way there then. */
    const asked: { readonly at: number; readonly together: number }[] = [];
    let together = 0;
    await using server = await scriptedSmtpServer({
      // One message at a time on each connection: replies may be late and stay in order.
      extensions: [],
      answer: ({ verb, line, session }) => {
        const isTheirs = /@gmail\.com/i.test(verb === 'RCPT' ? line : (session.to ?? ''));
        if (verb === 'RCPT' && isTheirs) {
          asked.push({ at: (performance.now() - startedAt) / 1_000, together: together + 1 });
          // What is under way already hears the same.
          if ((asked.at(-1)?.at ?? 0) < (asked[0]?.at ?? 0) + TOLD_SECONDS)
            return '421 4.7.28 Gmail has detected an unusual rate of mail';
          together += 1;
        }
        if (verb !== 'CONTENT' || !isTheirs) return undefined;
        setTimeout(() => {
          together -= 1;
          session.socket.write('250 2.0.0 taken\r\n');
        }, REPLY_MS);
        return null;
      },
      keepsUnanswered: true,
    });
    const world = await campaignWorld(ctx, {
      recipients: RECIPIENTS,
      smtpPort: server.port,
      server: { connections: 12, window: 1 },
    });
    await ctx.db.execute(
      sql`UPDATE subscriber SET email = 'p' || id || '@gmail.com', email_key = 'p' || id || '@gmail.com'
           WHERE list_id = ${world.listId} AND id % 6 = 0`,
    );
    const theirs = RECIPIENTS / 6;
    const worker = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'worker,cron' });
    await startCampaign(world.ctx, world.campaignUid);
    await expect.poll(async () => (await balanceOf(world)).sent, { timeout: 400_000 }).toBe(RECIPIENTS - theirs);
    await expect.poll(() => statusOf(world), { timeout: (2 * REST_SECONDS + 300) * 1_000, interval: 500 }).toBe('done');
    await worker.stop();
    const first = asked[0]?.at ?? 0;
    const later = asked.filter(({ at }) => at > first + TOLD_SECONDS);
    console.log(`asked at ${asked.map(({ at, together: now }) => `${(at - first).toFixed(1)} (${now})`).join(', ')}`);
    expect((later[0]?.at ?? 0) - first).toBeGreaterThanOrEqual(REST_SECONDS - 1);
    expect(later[0]?.together).toBe(1);
    // Never two more than ever before at once.
    for (let at = 1, most = 1; at < later.length && most < ROUNDS_SEEN; at++) {
      expect(later[at]?.together).toBeLessThanOrEqual(most + 1);
      most = Math.max(most, later[at]?.together ?? 0);
    }
    expect((await balanceOf(world)).sent).toBe(RECIPIENTS);
    expect(Math.max(...copiesByRecipient(server.accepted).values())).toBe(1);
  },
  1_800_000,
);
