/**
 * Three processes on one database: one only serves, two only work. They share a campaign without a double, and the
 * serving one shows its figures live (issue: "two workers as two processes, a web-only process serves the live
 * statistics").
 */
import { createClient } from 'graphql-ws';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { openDatabase, sql } from '../../src/db/database.ts';
import { silentLog } from '../../src/lib/log.ts';
import { copiesByRecipient } from '../support/campaign-world.ts';
import { startProgram, type Program } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestDatabase } from '../support/test-database.ts';

const RECIPIENTS = 3_000;
const { url } = await createTestDatabase();
const database = openDatabase({ url, poolSize: 2, log: silentLog });
afterAll(() => database.close());

const contact = {
  company: 'Acme',
  address_1: '1 High Street',
  city: 'Springfield',
  state: 'CA',
  zip: '12345',
  phone: '1',
  country_id: 1,
  email: 'a@acme.example',
};
const sender = { from_email: 'news@acme.example', from_name: 'Acme' };

async function rest(program: Program, method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(`${program.baseUrl}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${program.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const parsed: Record<string, unknown> = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(parsed)}`);
  return parsed;
}

async function prepareCampaign(web: Program, smtpPort: number): Promise<string> {
  const { list_uid } = await rest(web, 'POST', '/lists', {
    name: 'Friends',
    default_subject: 'News',
    ...sender,
    contact,
  });
  await database.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields)
        SELECT customer_id, id, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed', jsonb_build_object('FIRST_NAME', 'Name' || n)
          FROM mail_list, generate_series(1, ${RECIPIENTS}::int) n`,
  );
  const settings = { host: '127.0.0.1', port: smtpPort, encryption: 'none', connections: 2, window: 5 };
  await rest(web, 'POST', '/sending_servers', { name: 'Test', type: 'smtp', settings });
  const html = '<p>Hello {FIRST_NAME}, <a href="https://example.com/">an offer</a></p>';
  const { campaign_uid } = await rest(web, 'POST', '/campaigns', {
    list_uid,
    name: 'News',
    subject: 'Hi {FIRST_NAME}',
    ...sender,
    html,
  });
  return String(campaign_uid);
}

interface Figures {
  readonly status: string;
  readonly sentCount: number;
}

/** All figures that the subscription gives until the campaign is done. */
async function watchUntilDone(web: Program, uid: string): Promise<Figures[]> {
  const client = createClient({
    url: `${web.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { apiToken: web.token },
  });
  const seen: Figures[] = [];
  const query = `subscription ($uid: String!) { campaignStatistics(uid: $uid) { status sentCount } }`;
  for await (const { data, errors } of client.iterate<{ campaignStatistics: Figures }>({ query, variables: { uid } })) {
    if (!data) throw new Error(JSON.stringify(errors));
    seen.push(data.campaignStatistics);
    if (data.campaignStatistics.status.toLowerCase() === 'done') break;
  }
  await client.dispose();
  return seen;
}

describe('three processes', () => {
  it('share a campaign, and the one that only serves shows it live', async () => {
    await using smtp = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
    const settings = { DATABASE_URL: url, SEND_BATCH_SIZE: '100', WORKER_CONCURRENCY: '2' };
    const web = await startProgram({ ...settings, ROLES: 'web' });
    const [leaver] = await Promise.all([
      startProgram({ ...settings, ROLES: 'worker' }),
      startProgram({ ...settings, ROLES: 'worker,cron' }),
    ]);
    const uid = await prepareCampaign(web, smtp.port);
    const startedAt = performance.now();
    const watching = watchUntilDone(web, uid);
    expect(await rest(web, 'POST', `/campaigns/${uid}/run`)).toMatchObject({ status: 'success' });
    const seen = await watching;

    const copies = copiesByRecipient(smtp.accepted);
    expect(copies.size).toBe(RECIPIENTS);
    expect(Math.max(...copies.values())).toBe(1);
    // Both workers had a hand in it: one alone opens no more than its two connections.
    expect(smtp.sessions.length).toBeGreaterThanOrEqual(3);
    const [row] = await queryRows<{ audience: number; sent: number; open: number }>(
      database,
      sql`SELECT audience, sent, open FROM hot.delivery_counter`,
    );
    expect(row).toEqual({ audience: RECIPIENTS, sent: RECIPIENTS, open: 0 });
    expect(seen.at(-1)).toMatchObject({ sentCount: RECIPIENTS });
    expect(seen.length).toBeGreaterThanOrEqual(3);
    // One at once, then at most four a second, whatever the campaign does.
    expect(seen.length).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedAt) / 250));
    expect(await rest(web, 'GET', `/campaigns/${uid}`)).toMatchObject({ statistics: { delivered_count: RECIPIENTS } });

    // Who leaves in order is no worker any more: the other has all connections of the servers at once.
    const workers = () =>
      queryRows(database, sql`SELECT 1 FROM hot.process WHERE is_working AND 'worker' = ANY (roles)`);
    await expect.poll(async () => (await workers()).length).toBe(2);
    await leaver?.stop();
    expect(await workers()).toHaveLength(1);
  });
});
