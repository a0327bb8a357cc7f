/** What a campaign that has begun lets its author change while it is paused (D22), and that nobody gets what was there before. */
import type { Socket } from 'node:net';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, sql } from '../../src/db/database.ts';
import { createCampaign } from '../../src/domain/campaigns/create-campaign.ts';
import { pauseCampaign } from '../../src/domain/campaigns/pause-campaign.ts';
import { resumeCampaign } from '../../src/domain/campaigns/resume-campaign.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { updateCampaign } from '../../src/domain/campaigns/update-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { readCampaignLinks } from '../../src/domain/statistics/campaign-toplists-read-model.ts';
import { WrongStateError } from '../../src/lib/errors.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { balanceOf, campaignWorld, untilStatus, type CampaignWorld } from '../support/campaign-world.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const ctx = await createTestContext({ installation: testInstallation });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const drivers = createDriverPool(ctx.hooks);
const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
const worker = await runWorker({ ctx, tasks: [snapshotTask, sendBatchTask(tools)], concurrency: 4, crontab: [] });
afterAll(async () => {
  await worker.stop(5_000);
  await drivers.close();
});

const change = (world: CampaignWorld, values: object) => updateCampaign(world.ctx, world.campaignUid, values);
const TWO_LINKS = '<p><a href="https://example.com/a">a</a> <a href="https://example.com/b">b</a></p>';
const ONE_LINK = '<p>Right, <a href="https://example.com/c">c</a></p>';

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5);
}

it('lets the content be mended until somebody has it, and the audience not', async () => {
  let isOpen = false;
  await using server = await scriptedSmtpServer({
    extensions: ['PIPELINING'],
    answer: ({ verb, session }) => {
      if (verb === 'EHLO' && !isOpen) session.socket.destroy();
      return undefined;
    },
  });
  const world = await campaignWorld(ctx, { recipients: 30, smtpPort: server.port, campaign: { html: TWO_LINKS } });
  await startCampaign(world.ctx, world.campaignUid);
  await until(async () => (await balanceOf(world)).audience === 30);
  await pauseCampaign(world.ctx, world.campaignUid);
  await until(async () => (await balanceOf(world)).queued === 30);
  await change(world, { subject: 'Mended', html: ONE_LINK });
  const key = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
  const [links] = await readCampaignLinks(ctx, [key]);
  expect(links?.map(({ url }) => url)).toEqual(['https://example.com/c']);

  await expect(change(world, { subject: '' })).rejects.toMatchObject({ code: 'CAMPAIGN_NOT_READY' });
  await expect(change(world, { segmentUid: null })).rejects.toMatchObject({ code: 'CAMPAIGN_WRONG_STATE' });
  await expect(change(world, { subject: 'x', deliveryAt: null })).rejects.toMatchObject({
    code: 'CAMPAIGN_WRONG_STATE',
  });
  isOpen = true;
  await ctx.db.execute(sql`DELETE FROM hot.sending_health`);
  await resumeCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(server.accepted).toHaveLength(30);
  for (const { content } of server.accepted) expect(content).toMatch(/Subject: Mended[^]*Right,/);
});

it('is refused for content once somebody has it, or may have it; the way of the rest may change', async () => {
  await using server = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
  const world = await campaignWorld(ctx, { recipients: 10, smtpPort: server.port });
  await ctx.db.execute(sql`UPDATE sending_server SET quota_value = 2, quota_base = 1, quota_unit = 'hour'
                            WHERE customer_id = ${world.ctx.viewer?.customerId ?? 0n}`);
  await startCampaign(world.ctx, world.campaignUid);
  await until(() => server.accepted.length > 0);
  await pauseCampaign(world.ctx, world.campaignUid);
  await expect(change(world, { subject: 'Late' })).rejects.toMatchObject({ code: 'CAMPAIGN_WRONG_STATE' });
  await change(world, { skipFailedMessages: false, sendingServers: null });
  await until(async () => (await balanceOf(world)).sent > 0);
  await ctx.db.execute(
    sql`UPDATE hot.delivery SET state = 'queued', ambiguous_count = 1 WHERE source_id = ${world.campaignId}`,
  );
  await ctx.db.execute(sql`UPDATE hot.delivery_counter SET sent = 0, open = 10 WHERE source_id = ${world.campaignId}`);
  await expect(change(world, { subject: 'Late' })).rejects.toMatchObject({ code: 'CAMPAIGN_WRONG_STATE' });
});

it('reaches a batch that waited for its turn at a busy server through pause, change and resume', async () => {
  let held: Socket | undefined;
  await using server = await scriptedSmtpServer({
    extensions: [],
    keepsUnanswered: true,
    answer: ({ verb, session }) => {
      if (verb !== 'CONTENT' || held) return undefined;
      held = session.socket;
      return null;
    },
  });
  const first = await campaignWorld(ctx, {
    recipients: 5,
    smtpPort: server.port,
    server: { connections: 1, window: 1 },
  });
  await startCampaign(first.ctx, first.campaignUid);
  await until(() => held !== undefined);
  const second = await anotherCampaign(first);
  await startCampaign(second.ctx, second.campaignUid);
  await until(async () => (await balanceOf(second)).audience === 5);
  // its loop has read everybody by now, and waits for the one place
  await sleep(700);
  await pauseCampaign(second.ctx, second.campaignUid);
  await change(second, { subject: 'Mended' });
  await resumeCampaign(second.ctx, second.campaignUid);
  held?.write('250 taken\r\n');
  await untilStatus(second, 'done');
  await untilStatus(first, 'done');
  const subjects = server.accepted.map(({ content }) => /Subject: (.*)\r/.exec(content)?.[1] ?? '');
  expect(subjects.filter((subject) => subject.startsWith('Hi '))).toHaveLength(5);
  expect(subjects.filter((subject) => subject === 'Mended')).toHaveLength(5);
});

async function anotherCampaign(world: CampaignWorld): Promise<CampaignWorld> {
  const [list] = await queryRows<{ uid: string }>(ctx.db, sql`SELECT uid FROM mail_list WHERE id = ${world.listId}`);
  const { uid } = await createCampaign(world.ctx, {
    ...{ listUid: list?.uid ?? '', name: 'Second', subject: 'Wrong' },
    ...{ fromEmail: 'news@sender.example', fromName: 'Sender', html: ONE_LINK },
  });
  const [row] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM campaign WHERE uid = ${uid}`);
  return { ...world, campaignUid: uid, campaignId: row?.id ?? 0n };
}

const EDITS = 200;
/** Each waits for a pause, a resume and a job: twenty seconds on an idle machine, and over five minutes on a very busy one. */
const EDITS_MS_MAX = 900_000;
const STALL_SECONDS = 5;
/** After so many edits the next commit of marks stalls. */
const STALLS_AT: ReadonlySet<number> = new Set([0, 40, 120]);

/** A commit of marks waits for as long as `due_stall` says, as it does for a disk; nobody sees the marks meanwhile. */
async function stallCommits(): Promise<void> {
  await ctx.db.execute(raw('CREATE TABLE due_stall (seconds float8)'));
  await ctx.db.execute(
    raw(`CREATE FUNCTION stall_commit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE stall float8;
BEGIN
  DELETE FROM due_stall WHERE ctid = (SELECT ctid FROM due_stall LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING seconds INTO stall;
  PERFORM pg_sleep(stall);
  RETURN NULL;
END $$`),
  );
  await ctx.db.execute(
    raw(`CREATE CONSTRAINT TRIGGER stall_commit AFTER UPDATE ON hot.delivery DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW WHEN (NEW.state = 'sending' AND OLD.state <> 'sending') EXECUTE FUNCTION stall_commit()`),
  );
}

const isStalling = async (): Promise<boolean> =>
  (
    await queryRows(
      ctx.db,
      sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
    )
  ).length > 0;

const textOf = (version: number) => ({
  subject: `Subject v${version}.`,
  fromName: `Sender v${version}.`,
  html: `<p>Html v${version}.</p><p><a href="https://example.com/v${version}.">link</a></p>`,
  plain: `Plain v${version}. https://example.com/v${version}.`,
  trackClick: false,
});
const PLACES_OF_A_VERSION = 6;

it(
  'sends the text that was answered last, whole, however long a commit takes',
  async () => {
    let answered = 0;
    const wrong: string[] = [];
    let messages = 0;
    await using server = await scriptedSmtpServer({
      extensions: ['PIPELINING'],
      answer: ({ verb, content = '' }) => {
        if (verb !== 'CONTENT') return undefined;
        messages += 1;
        const versions = content.replaceAll('=\r\n', '').match(/(?<=v)\d+(?=\.)/g) ?? [];
        const [version] = versions;
        if (versions.length !== PLACES_OF_A_VERSION || new Set(versions).size > 1 || Number(version) < answered)
          wrong.push(`v${versions.join(',')} when v${answered} was answered`);
        // Nobody has it, so it may change again.
        return answered < EDITS ? '450 4.2.0 Later' : undefined;
      },
    });
    const world = await campaignWorld(ctx, {
      ...{ recipients: 12, smtpPort: server.port, campaign: textOf(0) },
      server: { connections: 4, window: 1 },
    });
    const edit = async (): Promise<boolean> => {
      try {
        await updateCampaign(world.ctx, world.campaignUid, textOf(answered + 1));
        answered += 1;
        return true;
      } catch (error) {
        if (error instanceof WrongStateError && error.code === 'CAMPAIGN_WRONG_STATE') return false;
        throw error;
      }
    };
    await stallCommits();
    await startCampaign(world.ctx, world.campaignUid);
    await until(async () => (await balanceOf(world)).audience === 12);
    let atResume = 0;
    while (answered < EDITS) {
      const before = atResume;
      const isHandedOver = () => messages > before;
      if (STALLS_AT.has(answered)) {
        await ctx.db.execute(sql`INSERT INTO due_stall VALUES (${STALL_SECONDS})`);
        await until(isStalling);
        // Each third time after one was handed over, however slow the machine; else anywhere between reading the text and the server's reply.
      } else if (answered % 3 === 1) await until(isHandedOver);
      else await Promise.race([until(isHandedOver), sleep((answered * 7) % 50)]);
      await pauseCampaign(world.ctx, world.campaignUid);
      await until(edit);
      // Tries are bounded, and these were for nobody.
      await ctx.db.execute(
        sql`UPDATE hot.delivery SET attempts = 0, not_before = NULL WHERE source_id = ${world.campaignId}`,
      );
      atResume = messages;
      await resumeCampaign(world.ctx, world.campaignUid);
    }
    await untilStatus(world, 'done');
    expect(wrong).toEqual([]);
    expect(await queryRows(ctx.db, sql`SELECT 1 FROM due_stall`)).toEqual([]);
    expect(messages).toBeGreaterThan(EDITS / 4);
    expect(server.accepted).toHaveLength(12);
  },
  EDITS_MS_MAX,
);
