/**
 * Each of the operator's ways for bounces and complaints is a line of the diagnosis: a vendor's webhook, a bounce mailbox, the server for
 * bounces. A line warns when much was sent and nothing came back for long.
 */
import { createTransport } from 'nodemailer';
import { afterAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { createBounceHandler } from '../../src/domain/bounces/create-bounce-handler.ts';
import { pollBounceHandler } from '../../src/domain/bounces/poll-bounce-handler.ts';
import { BOUNCE_SERVER, watchReportSource } from '../../src/domain/bounces/report-source-store.ts';
import { diagnose } from '../../src/domain/installation/diagnostics.ts';
import { countMessages, flushMessageCounts } from '../../src/domain/sending/count-messages.ts';
import { startBounceServer } from '../../src/inbound/bounce-server.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { SendingDriverRegistration, WebhookEvent } from '../../src/plugin-api/index.ts';
import { programShapes } from '../domain/bounces/bounce-shapes.ts';
import { complaintShapes } from '../domain/bounces/complaint-shapes.ts';
import { LOGIN, startMailboxServers } from '../support/mailbox-servers.ts';
import { reportedWorld } from '../support/reported-world.ts';
import { createTenant } from '../support/tenant.ts';
import { startInboundServer } from './inbound-server.ts';
import { withDriver } from '../support/with-hooks.ts';

const { ctx, origin } = await startInboundServer();
const mailboxes = await startMailboxServers();
const server = await startBounceServer(ctx, { host: '127.0.0.1', port: 0, name: 'bounces.example' });
const transport = createTransport({ host: '127.0.0.1', port: server.port });
afterAll(async () => {
  transport.close();
  await Promise.all([server.close(), mailboxes.close()]);
});

const driver: SendingDriverRegistration = {
  ...{ type: 'pigeon-api', name: 'Pigeon', description: 'Sends by pigeon.', configKeys: [], secretKeys: [] },
  validate: () => ({ ok: true, settings: {} }),
  connect: () => {
    throw new Error('not in this test');
  },
  webhook: { verify: () => true, parse: ({ body }) => JSON.parse(Buffer.from(body).toString()) as WebhookEvent[] },
};
withDriver(ctx.hooks, driver);

const root = await createTenant(ctx);
const admin = { ...root, viewer: root.viewer && { ...root.viewer, isAdmin: true } };
const customerId = root.viewer?.customerId ?? 0n;

async function newServer(isSystem: boolean): Promise<{ uid: string; id: bigint }> {
  const uid = newUid();
  const [row] = await ctx.db.query(
    { id: 'bigint' },
    sql`INSERT INTO sending_server (customer_id, uid, name, type, is_system) VALUES (${customerId}, ${uid}, 'Pigeon', 'pigeon-api', ${isSystem})
        RETURNING id`,
  );
  return { uid, id: row?.id ?? 0n };
}

const post = (uid: string, events: readonly object[]) =>
  fetch(`${origin}/webhook/pigeon-api/${uid}`, { method: 'POST', body: JSON.stringify(events) });

async function send(serverId: bigint, messages: number): Promise<void> {
  countMessages(ctx.db, { serverId, outcome: 'sent', messages });
  await flushMessageCounts(ctx.db);
}

/** As if all that was noted so far had been two days ago. */
const waitTwoDays = () =>
  ctx.db.execute(sql`UPDATE hot.report_source SET since = since - interval '50 hours',
    reported_at = reported_at - interval '50 hours', complained_at = complained_at - interval '50 hours'`);

async function reports(bounceDomain = 'bounces.example'): Promise<Readonly<Record<string, string>>> {
  const results = await diagnose({ ...ctx, installation: { ...ctx.installation, bounceDomain } });
  const found = results.filter(({ name }) => name.startsWith('reports'));
  return Object.fromEntries(found.map(({ name, status, message }) => [name, `${status}: ${message}`]));
}

const vendor = await newServer(true);
const BY_VENDOR = `reports_by_webhook_${vendor.uid}`;

test('a webhook is in use since its first report, and a silent one is a warning', async () => {
  const theirs = await newServer(false);
  await post(theirs.uid, [{ kind: 'delivered', id: newUid(), messageId: 'm' }]);
  expect(await reports()).toEqual({});
  await send(vendor.id, 5_000);
  await post(vendor.uid, [{ kind: 'delivered', id: newUid(), messageId: 'm' }]);
  expect(await reports()).toEqual({
    [BY_VENDOR]: `ok: Webhook of the sending server ${vendor.uid}: The last report is 0 minutes old, no complaint has come yet; 0 messages were sent since.`,
  });
  await waitTwoDays();
  await send(vendor.id, 999);
  await send((await newServer(true)).id, 10_000);
  expect((await reports())[BY_VENDOR]).toMatch(/^ok: .*2 days old.* 999 messages/);
  await send(vendor.id, 1);
  expect((await reports())[BY_VENDOR]).toMatch(/^warning: .*2 days old.* 1000 messages/);
  await post(vendor.uid, [{ kind: 'complained', id: newUid(), messageId: 'm' }]);
  expect((await reports())[BY_VENDOR]).toMatch(/^ok: .*the last complaint is 0 minutes old; 0 messages/);
});

test('each way has its own line: another one that works does not hide a silent one', async () => {
  const settings = {
    name: 'Bounces',
    protocol: 'imap',
    host: '127.0.0.1',
    port: mailboxes.imapPort,
    encryption: 'none',
  };
  const handler = await createBounceHandler(admin, { ...settings, ...LOGIN });
  const poll = () => pollBounceHandler(ctx, handler, new AbortController().signal);
  const byMailbox = `reports_by_mailbox_${handler.uid}`;
  await poll();
  await watchReportSource(ctx.db, BOUNCE_SERVER);
  await waitTwoDays();
  await send(vendor.id, 2_000);
  await post(vendor.uid, [{ kind: 'delivered', id: newUid(), messageId: 'm' }]);
  expect(await reports()).toMatchObject({
    [BY_VENDOR]: expect.stringMatching(/^ok: .* 0 messages/),
    [byMailbox]: expect.stringMatching(/^warning: .*Nothing has come in 2 days.* 2000 messages/),
    reports_by_bounce_server: expect.stringMatching(/^warning: .*Nothing has come in 2 days.* 2000 messages/),
  });
  expect(await reports('')).not.toHaveProperty('reports_by_bounce_server');

  const [one, two] = [await reportedWorld(ctx), await reportedWorld(ctx)];
  mailboxes.put('Subject: not a report\r\n\r\n');
  await poll();
  expect((await reports())[byMailbox]).toMatch(/^warning/);
  const complaint = complaintShapes(one.original, '').find(({ verdict }) => verdict === 'complaint');
  mailboxes.put(complaint?.raw ?? '');
  await poll();
  const [bounce] = programShapes(two.original);
  await transport.sendMail({ envelope: { from: '', to: two.returnPath }, raw: bounce?.raw ?? '' });
  expect(await reports()).toMatchObject({
    [byMailbox]: expect.stringMatching(/^ok: .*report is 0 minutes old, the last complaint is 0 minutes/),
    reports_by_bounce_server: expect.stringMatching(/^ok: .*report is 0 minutes old, no complaint/),
  });

  await ctx.db.execute(sql`UPDATE bounce_handler SET status = 'inactive' WHERE id = ${handler.id}`);
  await ctx.db.execute(sql`DELETE FROM sending_server WHERE id = ${vendor.id}`);
  expect(Object.keys(await reports())).toEqual(['reports_by_bounce_server']);
});
