/**
 * A campaign through a mail program of this machine that fails in all the ways a program can: nobody is lost, nobody gets a second
 * copy that the ledger does not explain, and the counters are those of the rows.
 *
 *   SENDMAIL_RECIPIENTS=5000 npx vitest run test/workers/sendmail-campaign.test.ts
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { balanceOf, campaignWorld, statusOf, type CampaignWorld } from '../support/campaign-world.ts';
import { expectBalanced } from '../support/ledger-checks.ts';
import { makeSendmail } from '../support/sendmail-program.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

/** At least one of each fault. */
const RECIPIENTS = Number(process.env['SENDMAIL_RECIPIENTS'] ?? 200);
const PROCESSES = 4;
const TIMEOUT_MS = Math.max(300_000, RECIPIENTS * 200);
/** By the number of the recipient, modulo 200. A fault that may be repaired is met once a recipient. Every fiftieth process is killed. */
const FAULTS = `n=\${5%%@*}; n=\${n#p};
first() { if [ -e "$here/met.$n" ]; then return 1; fi; : > "$here/met.$n"; };
case $((n % 200)) in
  0|100) if first; then keep "$5"; kill -9 $$; fi ;;
  50|150) if first; then cat > /dev/null; kill -9 $$; fi ;;
  10|60|110|160) if first; then cat > /dev/null; exit 75; fi ;;
  20|70|120|170) cat > /dev/null; echo 'No such user here' >&2; exit 67 ;;
  30|80|130|180) sleep 0.5 ;;
  40) if first; then exec 0<&-; exit 69; fi ;;
esac; keep "$5"`.replaceAll('\n', ' ');

const limits = { ...testInstallation.limits, sendBatchSize: 100, sendRetryDelaySeconds: 1 };
const program = makeSendmail();
const installation = { ...testInstallation, limits, sendingPrograms: [program.path] };
const ctx = await createTestContext({ installation });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const drivers = createDriverPool(ctx.hooks);
const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
let worker: Awaited<ReturnType<typeof runWorker>>;
beforeAll(async () => {
  worker = await runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(tools)], concurrency: 2, crontab: [] });
});
afterAll(async () => {
  await worker.stop(10_000);
  await drivers.close();
  program[Symbol.dispose]();
});

async function sendmailWorld(): Promise<CampaignWorld> {
  const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: 9, server: { connections: PROCESSES } });
  const settings = JSON.stringify({ path: program.path, connections: PROCESSES });
  await ctx.db.execute(
    sql`UPDATE sending_server SET type = 'sendmail', is_system = true, settings = ${settings}::jsonb
         WHERE customer_id = ${world.ctx.viewer?.customerId ?? 0n}`,
  );
  return world;
}

test(
  'a campaign with killed, full, slow and refusing processes: lost 0, unexplained copies 0',
  { timeout: TIMEOUT_MS },
  async () => {
    program.run(FAULTS);
    const world = await sendmailWorld();
    await startCampaign(world.ctx, world.campaignUid);
    const deadline = performance.now() + TIMEOUT_MS;
    while ((await statusOf(world)) !== 'done') {
      await expectBalanced(world);
      if (performance.now() > deadline) throw new Error(JSON.stringify(await balanceOf(world)));
      await sleep(500);
    }
    await expectBalanced(world);
    const taken = program.taken();
    const rows = await queryRows<{ email: string; state: string; reason: string | null; reply: string | null }>(
      ctx.db,
      sql`SELECT email, state::text AS state, reason, reply FROM hot.delivery WHERE source_id = ${world.campaignId}`,
    );
    const share = (numbers: readonly number[]) =>
      rows.filter(({ email }) => numbers.includes(Number(/\d+/.exec(email)) % 200)).map(({ email }) => email);
    const inState = (state: string) => rows.filter((row) => row.state === state).map(({ email }) => email);
    expect(rows).toHaveLength(RECIPIENTS);
    expect(inState('unknown').toSorted()).toEqual(share([0, 50, 100, 150]).toSorted());
    expect(inState('failed').toSorted()).toEqual(share([20, 70, 120, 170]).toSorted());
    expect(inState('sent')).toHaveLength(RECIPIENTS - share([0, 50, 100, 150, 20, 70, 120, 170]).length);
    // One copy each; of those in doubt the one half was taken before the process was killed.
    const copies = new Set(taken.map(({ to }) => to));
    expect(copies.size).toBe(taken.length);
    expect([...copies].toSorted()).toEqual([...inState('sent'), ...share([0, 100])].toSorted());
    expect(program.connections()).toMatchObject({ now: 0 });
    expect(program.connections().most).toBeLessThanOrEqual(PROCESSES + share([0, 50, 100, 150]).length);
  },
);
