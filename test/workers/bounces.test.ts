/** There and back: a campaign leaves under return-paths of its own, what is refused and what comes back is acted on. */
import { once } from 'node:events';
import path from 'node:path';
import { SMTPServer } from 'smtp-server';
import { createTransport } from 'nodemailer';
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { createActiveCampaigns } from '../../src/domain/delivery/campaigns/active-campaign.ts';
import { makePartitions } from '../../src/domain/delivery/ledger/make-partitions.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { readCampaignStatistics } from '../../src/domain/statistics/campaign-statistics-read-model.ts';
import { parseReturnPath } from '../../src/domain/tracking/return-path.ts';
import { startBounceServer } from '../../src/inbound/bounce-server.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { bounceTasks } from '../../src/workers/tasks/bounces.ts';
import { snapshotTask } from '../../src/workers/tasks/plan-campaign.ts';
import { sendBatchTask } from '../../src/workers/tasks/send-batch.ts';
import { programShapes } from '../domain/bounces/bounce-shapes.ts';
import { campaignWorld, untilStatus, type CampaignWorld } from '../support/campaign-world.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const ctx = await createTestContext({ installation: { ...testInstallation, bounceDomain: 'bounces.example' } });
await loadPlugins(path.resolve('plugins'), ctx.hooks);
await makePartitions(ctx);
const drivers = createDriverPool(ctx.hooks);
const tools = { drivers, campaigns: createActiveCampaigns(), announce: () => undefined };
const worker = await runWorker({
  ctx,
  tasks: [snapshotTask, sendBatchTask(tools), ...bounceTasks],
  concurrency: 2,
  crontab: [],
});
const bounces = await startBounceServer(ctx, { host: '127.0.0.1', port: 0, name: 'bounces.example' });

/** Everybody's mail server; p1 and p2 are gone, the mailbox of p3 is full. */
const taken = new Map<string, string>();
const contents = new Map<string, string>();
const receiver = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onRcptTo({ address }, _session, done) {
    const reply = { p1: '5.1.1 User unknown', p2: '5.1.1 User unknown', p3: '5.2.2 Mailbox full' }[
      address.split('@')[0] ?? ''
    ];
    done(
      reply === undefined
        ? null
        : Object.assign(new Error(reply), { responseCode: reply.startsWith('5.2') ? 552 : 550 }),
    );
  },
  onData(stream, { envelope }, done) {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      taken.set(envelope.rcptTo[0]?.address ?? '', envelope.mailFrom ? envelope.mailFrom.address : '');
      contents.set(envelope.rcptTo[0]?.address ?? '', Buffer.concat(chunks).toString('latin1'));
      done();
    });
  },
});
const listening = receiver.listen(0, '127.0.0.1');
await once(listening, 'listening');
afterAll(async () => {
  await worker.stop(5_000);
  await drivers.close();
  await bounces.close();
  await new Promise<void>((resolve) => receiver.close(() => resolve()));
});

test('what servers refuse and what comes back suppresses, and the figures add up', async () => {
  const address = listening.address();
  const smtpPort = typeof address === 'object' && address ? address.port : 0;
  const world = await campaignWorld(ctx, { recipients: 10, smtpPort });
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  expect(taken.size).toBe(7);
  const keys = [...taken.values()].map((from) => parseReturnPath(ctx.installation, from));
  expect(new Set(keys.map((key) => key?.recipientId)).size).toBe(7);
  expect(keys.every((key) => key?.sourceId === world.campaignId)).toBe(true);

  const returnPath = taken.get('p4@example.org') ?? '';
  // The report quotes nothing of ours: its address says it all.
  const [shape] = programShapes({
    messageId: '<other@sender.example>',
    to: 'p4@example.org',
    returnPath: 'x@x.example',
  });
  const transport = createTransport({ host: '127.0.0.1', port: bounces.port });
  await transport.sendMail({ envelope: { from: '', to: returnPath }, raw: shape?.raw ?? '' });

  const suppressed = async () => {
    const rows = await queryRows<{ email_key: string }>(
      ctx.db,
      sql`SELECT email_key FROM suppression WHERE customer_id = ${world.ctx.viewer?.customerId} ORDER BY 1`,
    );
    return rows.map(({ email_key: key }) => key);
  };
  await expect.poll(suppressed).toEqual(['p1@example.org', 'p2@example.org', 'p4@example.org']);
  await unsubscribeByMail(world);
  const campaign = { customerId: world.ctx.viewer?.customerId ?? 0n, campaignId: world.campaignId };
  await expect
    .poll(() => readCampaignStatistics(ctx, [campaign]))
    .toMatchObject([{ sentCount: 7, failedCount: 3, bounceCount: 4, deliveredCount: 6 }]);
  const events = await queryRows(
    ctx.db,
    sql`SELECT type, status_code, count(*)::int AS n FROM hot.bounce_event WHERE source_id = ${world.campaignId} GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  expect(events).toEqual([
    { type: 'hard', status_code: '5.1.1', n: 3 },
    { type: 'soft', status_code: '5.2.2', n: 1 },
  ]);
});

/** As a mail program does that knows no web address: by the header of the mail that arrived. */
async function unsubscribeByMail(world: CampaignWorld): Promise<void> {
  const header =
    /^List-Unsubscribe: *\r?\n? *<https?:[^>]+>,\r\n <mailto:([^?>]+)\?subject=unsubscribe>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m;
  const addresses = [...contents.values()].map((content) => header.exec(content)?.[1]);
  expect(new Set(addresses).size).toBe(7);
  const [, to = ''] = header.exec(contents.get('p5@example.org') ?? '') ?? [];
  expect(to).toMatch(/@bounces\.example$/);
  expect(to).not.toBe(taken.get('p5@example.org'));
  const transport = createTransport({ host: '127.0.0.1', port: bounces.port });
  await transport.sendMail({
    envelope: { from: 'p5@example.org', to: to.toLowerCase() },
    raw: `To: ${to}\r\nSubject: unsubscribe\r\n\r\n`,
  });
  const left = await queryRows(
    ctx.db,
    sql`SELECT s.email, e.source FROM subscriber s JOIN consent_event e ON e.subscriber_id = s.id
         WHERE s.customer_id = ${world.ctx.viewer?.customerId} AND s.status = 'unsubscribed'`,
  );
  expect(left).toEqual([{ email: 'p5@example.org', source: 'mail' }]);
}
