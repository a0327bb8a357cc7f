/** `/metrics`: closed until it is opened, right in its figures, and without anything of a customer. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { campaignWorld, untilStatus } from '../support/campaign-world.ts';
import { startProgram } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const TOKEN = 'a-token-for-the-monitoring-0123456789';
const RECIPIENTS = 40;
const REFUSED = 7;

it('is closed unless the operator has opened it, and then to others', async () => {
  const closed = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'web' });
  expect((await fetch(`${closed.baseUrl}/metrics`)).status).toBe(404);
  await closed.stop();
  const byAddress = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'web', METRICS_ALLOW: '127.0.0.0/8' });
  expect((await fetch(`${byAddress.baseUrl}/metrics`)).status).toBe(200);
  // A proxy that is not in TRUSTED_PROXIES gives everybody its own address.
  const proxied = await fetch(`${byAddress.baseUrl}/metrics`, { headers: { 'x-forwarded-for': '192.0.2.7' } });
  expect(proxied.status).toBe(403);
  await byAddress.stop();
  const elsewhere = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'web', METRICS_ALLOW: '192.0.2.1' });
  expect((await fetch(`${elsewhere.baseUrl}/metrics`)).status).toBe(403);
  await elsewhere.stop();
});

it('shows the queue, messages by server, processes and requests, and nothing of a customer', async () => {
  let seen = 0;
  await using smtp = await scriptedSmtpServer({
    answer: ({ verb }) => (verb === 'RCPT' && ++seen <= REFUSED ? '550 5.7.1 no' : undefined),
  });
  const world = await campaignWorld(ctx, { recipients: RECIPIENTS, smtpPort: smtp.port });
  const settings = { DATABASE_URL: ctx.database.url, METRICS_TOKEN: TOKEN };
  const web = await startProgram({ ...settings, ROLES: 'web' });
  // Its messages are in the figures of the web process.
  const worker = await startProgram({ ...settings, ROLES: 'worker,cron' });
  const scrape = async (token: string) =>
    fetch(`${web.baseUrl}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  expect((await scrape('wrong')).status).toBe(401);
  await startCampaign(world.ctx, world.campaignUid);
  await untilStatus(world, 'done');
  await worker.stop();
  // A step that nobody does.
  await ctx.db.execute(sql`
    WITH a AS (INSERT INTO automation (customer_id, list_id, uid, name, status, draft)
               SELECT customer_id, id, 'abcdefabcdef0', 'Late', 'active', '{}' FROM mail_list LIMIT 1 RETURNING customer_id, id)
    INSERT INTO hot.flow_node (customer_id, automation_id, version, node, next_wake_at)
    SELECT customer_id, id, 1, 'late', now() - interval '90 seconds' FROM a`);
  await fetch(`${web.baseUrl}/api/v1/campaigns/${world.campaignUid}`, {
    headers: { authorization: `Bearer ${web.token}` },
  });
  // Figures are kept for two seconds.
  const total = /^mailwright_messages_total\{server="([^"]+)",outcome="sent"\} (\d+)$/m;
  let text = '';
  while (!total.test(text)) {
    await sleep(100);
    const answer = await scrape(TOKEN);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
    text = await answer.text();
  }
  expect(total.exec(text)?.[2]).toBe(String(RECIPIENTS - REFUSED));
  expect(text).toContain(`outcome="failed"} ${REFUSED}\n`);
  expect(text).toMatch(/^mailwright_automations_behind_seconds (9\d|\d{3,})/m);
  expect(text).toMatch(/^mailwright_queue_oldest_due_seconds \d/m);
  expect(text).toMatch(/^mailwright_processes\{role="web"\} [1-9]/m);
  expect(text).toContain('mailwright_database_up 1');
  expect(text).toContain('mailwright_on_hold 0');
  expect(text).toMatch(/^mailwright_event_follower_behind_seconds\{follower="hooks"\} \d/m);
  expect(text).toMatch(/^mailwright_sending_connections\{server="customers"\} [1-9]/m);
  expect(text).toMatch(/^mailwright_database_connections\{pool="requests",state="idle"\} \d+$/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  expect(text).toMatch(/duration_seconds_count\{method="GET",route="[^"]*\/campaigns\/:uid",status="\dxx"\} 1/);
  const [names] = await ctx.db.query(
    { customer: 'text', list: 'text', uid: 'text' },
    sql`SELECT c.name AS customer, l.name AS list, c.uid FROM mail_list l JOIN customer c ON c.id = l.customer_id LIMIT 1`,
  );
  for (const secret of [TOKEN, world.campaignUid, names?.uid, names?.customer, names?.list, '@'])
    expect(text).not.toContain(`"${secret}"`);
});
