/** Unsubscribes that a vendor reports (its own link, or its own List-Unsubscribe), through the real queue. */
import { afterAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { sealSecrets } from '../../src/domain/sending/server-secrets.ts';
import { driverOf as driverAmong } from '../../src/domain/sending/try-settings.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { bounceTasks } from '../../src/workers/tasks/bounces.ts';
import { VENDORS } from '../support/vendors.ts';
import { reportedWorld, standingOf, untouched, type ReportedWorld } from '../support/reported-world.ts';
import { amazonWith, startSns } from '../support/sns.ts';
import { withHooks } from '../support/with-hooks.ts';
import { reportingVendors, type ReportingVendor } from '../support/unsubscribe-reports.ts';
import { startInboundServer } from './inbound-server.ts';

const { ctx, origin } = await startInboundServer();
const sns = startSns();
for (const { plugin } of VENDORS) withHooks(ctx.hooks, plugin.name === 'mailwright/amazon' ? amazonWith(sns) : plugin);
const worker = await runWorker({ ctx, tasks: bounceTasks, concurrency: 2, crontab: [] });
afterAll(() => worker.stop(1_000));

async function serverOf({ customerId }: ReportedWorld, { type, settings }: ReportingVendor): Promise<string> {
  const uid = newUid();
  const { secretKeys } = driverAmong(ctx, type);
  const open = Object.fromEntries(Object.entries(settings).filter(([key]) => !secretKeys.includes(key)));
  const secrets = Object.fromEntries(Object.entries(settings).filter(([key]) => secretKeys.includes(key)));
  await ctx.db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, sealed_settings, is_system, status)
    VALUES (${customerId}, ${uid}, 'Vendor', ${type}, ${JSON.stringify(open)}::jsonb, ${sealSecrets(ctx.installation.secret, uid, secrets)}, false, 'inactive')`);
  return uid;
}

async function post(type: string, uid: string, { method, headers, query, body }: WebhookRequest): Promise<number> {
  const url = `${origin}/webhook/${type}/${uid}?${new URLSearchParams(query)}`;
  const answer = await fetch(url, { method, headers, ...(method === 'POST' && { body: new Uint8Array(body) }) });
  await answer.text();
  return answer.status;
}

async function untilIdle(): Promise<void> {
  await expect
    .poll(() => queryRows(ctx.db, sql`SELECT 1 FROM graphile_worker._private_jobs`), { timeout: 120_000 })
    .toEqual([]);
}

const ownIdOf = ({ messageId }: ReportedWorld) => messageId.slice(1, messageId.indexOf('@'));
const left = { ...untouched, status: 'unsubscribed', consents: 1 };

/** Rows of the log of unsubscribes, the counter of the campaign, and where the withdrawals came from. */
async function unsubscribesOf({ campaignId, subscriberId }: ReportedWorld) {
  const [row] = await queryRows<{ events: number; counted: number; sources: string | null }>(
    ctx.db,
    sql`SELECT (SELECT count(*)::int FROM hot.unsubscribe_event WHERE source_id = ${campaignId}) AS events,
               (SELECT unsubscribe_count::int FROM hot.tracking_counter WHERE source_id = ${campaignId}) AS counted,
               (SELECT string_agg(source, ',') FROM consent_event WHERE subscriber_id = ${subscriberId}) AS sources`,
  );
  return row;
}

test.each(reportingVendors(sns))(
  'a genuine report of $type unsubscribes from the list of its message, once',
  async (vendor) => {
    const { type } = vendor;
    const at = await reportedWorld(ctx);
    const uid = await serverOf(at, vendor);
    const report = vendor.report(ownIdOf(at), 1);
    expect([await post(type, uid, report), await post(type, uid, report)]).toEqual([200, 200]);
    // Another event about the same message.
    expect(await post(type, uid, vendor.report(ownIdOf(at), 2))).toBe(200);
    await untilIdle();
    expect(await standingOf(at)).toEqual(left);
    expect(await unsubscribesOf(at)).toEqual({ events: 1, counted: 1, sources: 'vendor' });
    const events = sql`SELECT 1 FROM hot.webhook_event WHERE customer_id = ${at.customerId}`;
    expect(await queryRows(ctx.db, events)).toHaveLength(2);
  },
);

test('forged reports, and those about messages of other customers or of nobody, change nothing', async () => {
  const worlds = await Promise.all(
    reportingVendors(sns).map(async (vendor) => {
      const [mine, theirs] = [await reportedWorld(ctx), await reportedWorld(ctx)];
      const uid = await serverOf(mine, vendor);
      const answers = [
        await post(vendor.type, uid, vendor.forged(ownIdOf(mine), 1)),
        await post(vendor.type, uid, vendor.report(ownIdOf(theirs), 1)),
        await post(vendor.type, uid, vendor.report('mail.0123456789012345678901234', 2)),
      ];
      expect({ type: vendor.type, answers }).toEqual({ type: vendor.type, answers: [401, 200, 200] });
      return [mine, theirs];
    }),
  );
  await untilIdle();
  for (const world of worlds.flat()) expect(await standingOf(world)).toEqual(untouched);
});

const [mailgun] = reportingVendors(sns);
const reportTo = async (at: ReportedWorld, event: number) => {
  if (!mailgun) throw new Error('There is one.');
  expect(await post(mailgun.type, await serverOf(at, mailgun), mailgun.report(ownIdOf(at), event))).toBe(200);
  await untilIdle();
};

test('it resolves an unknown outcome: whoever unsubscribed has the message', async () => {
  const at = await reportedWorld(ctx, { state: 'unknown' });
  await reportTo(at, 1);
  expect(await standingOf(at)).toEqual(left);
  const [row] = await queryRows(
    ctx.db,
    sql`SELECT state::text AS state FROM hot.delivery WHERE source_id = ${at.campaignId}`,
  );
  expect(row).toEqual({ state: 'sent' });
});

test('an old message can be unsubscribed from, and so can one that the ledger does not know as sent', async () => {
  const [old, failed] = [await reportedWorld(ctx, { daysAgo: 40 }), await reportedWorld(ctx, { state: 'failed' })];
  for (const at of [old, failed]) {
    await reportTo(at, 1);
    expect(await standingOf(at)).toMatchObject({ status: 'unsubscribed', consents: 1 });
  }
});

test('who has subscribed again since stays subscribed when the vendor repeats the event', async () => {
  const at = await reportedWorld(ctx);
  await reportTo(at, 1);
  expect(await standingOf(at)).toMatchObject({ status: 'unsubscribed' });
  await ctx.db.execute(sql`UPDATE subscriber SET status = 'subscribed' WHERE id = ${at.subscriberId}`);
  const server = sql`SELECT uid FROM sending_server WHERE customer_id = ${at.customerId}`;
  const [row] = await queryRows<{ uid: string }>(ctx.db, server);
  if (!mailgun || !row) throw new Error('There is one.');
  expect(await post(mailgun.type, row.uid, mailgun.report(ownIdOf(at), 1))).toBe(200);
  await untilIdle();
  expect(await standingOf(at)).toMatchObject({ status: 'subscribed' });
});

test('the driver of a plugin may report it by the id of its vendor', async () => {
  const at = await reportedWorld(ctx, { runtimeMessageId: `dove-${newUid()}` });
  const [sent] = await queryRows<{ id: string }>(
    ctx.db,
    sql`SELECT runtime_message_id AS id FROM hot.delivery WHERE source_id = ${at.campaignId}`,
  );
  withHooks(ctx.hooks, {
    register: (hooks) =>
      hooks.add('register_sending_server_driver', {
        ...{ type: 'dove-api', name: 'Dove', description: 'Flies.', configKeys: [], secretKeys: [] },
        validate: () => ({ ok: true, settings: {} }),
        connect: () => {
          throw new Error('not in this test');
        },
        webhook: {
          isUnsigned: true,
          verify: () => true,
          parse: () => [{ kind: 'unsubscribed', id: '', messageId: sent?.id ?? '' }],
        },
      }),
  });
  const dove = { type: 'dove-api', settings: {}, report: () => anyRequest, forged: () => anyRequest };
  expect(await post('dove-api', await serverOf(at, dove), anyRequest)).toBe(200);
  await untilIdle();
  expect(await standingOf(at)).toEqual(left);
});

const anyRequest: WebhookRequest = {
  ...{ method: 'POST', headers: {}, query: {} },
  ...{ body: Buffer.from('{}'), receivedAt: new Date() },
};
