/** `GET /campaigns/:uid` shows all of the ledger, and its counts add up at every moment (decision D54); REST and GraphQL. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { scriptedSmtpServer, type SmtpEvent } from '../support/scripted-smtp-server.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron' });
const { db } = app.ctx;
const owner = await app.newTenant();
const { call, newList, newCampaign } = mailWorld(app, owner);

const PEOPLE = 60;
const SUPPRESSED = [11, 12];
const LEAVING = [41, 42, 43];
const REFUSED = [21, 22, 23, 24];
const UNANSWERED = 31;
const COUNTS = ['pending', 'sent', 'failed', 'skipped', 'suppressed', 'unknown'] as const;

async function listOfPeople() {
  const list = await newList();
  await db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
    SELECT ${owner.customerId}, ${list.id}, 'p' || n || '@ledger.example', 'p' || n || '@ledger.example', 'subscribed', '{}', '{}'
      FROM generate_series(1, ${PEOPLE}::int) n`);
  await db.execute(sql`
    INSERT INTO suppression (customer_id, email_key, reason)
    SELECT ${owner.customerId}, 'p' || n || '@ledger.example', 'manual' FROM unnest(${SUPPRESSED}::int[]) n`);
  return list;
}

const serverAt = (port: number) =>
  db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, connections_max)
    VALUES (${owner.customerId}, ${newUid()}, 'One', 'smtp',
            ${JSON.stringify({ host: '127.0.0.1', port, encryption: 'none', connections: 1, window: 1 })}::jsonb, 1)`);

const numberOf = ({ to = '' }: SmtpEvent['session']) => Number(/p(\d+)@/.exec(to)?.[1]);

async function ledgerOverGraphql(uid: string): Promise<Record<string, number>> {
  const fields = COUNTS.map((name) => `${name}Count`).join(' ');
  const query = `query { campaign(uid: "${uid}") { ... on Campaign { statistics { subscriberCount ${fields} } } } }`;
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query }),
  });
  const { data } = (await response.json()) as { data: { campaign: { statistics: Record<string, number> } } };
  return data.campaign.statistics;
}

test('the counts add up while a campaign with every outcome is under way, and are right when it is done', async () => {
  let held: SmtpEvent['session'] | undefined;
  await using server = await scriptedSmtpServer({
    answer: (event) => {
      const { verb, line, session } = event;
      if (verb === 'RCPT' && REFUSED.some((no) => line.includes(`<p${no}@`))) return '550 5.1.1 No such mailbox';
      if (verb !== 'CONTENT') return undefined;
      if (!held) return ((held = session), null);
      if (numberOf(session) === UNANSWERED) return (session.socket.destroy(), null);
      return undefined;
    },
    keepsUnanswered: true,
  });
  await serverAt(server.port);
  const list = await listOfPeople();
  const uid = await newCampaign(list);
  const seen = new Set<string>();
  const look = async () => {
    const statistics = field(await call('GET', `/campaigns/${uid}`), 'statistics') as Record<string, number>;
    const sum = COUNTS.reduce((total, name) => total + (statistics[`${name}_count`] ?? Number.NaN), 0);
    expect(sum, JSON.stringify(statistics)).toBe(statistics['subscriber_count']);
    seen.add(COUNTS.map((name) => statistics[`${name}_count`]).join(' '));
    return statistics;
  };
  expect(await look()).toMatchObject({ subscriber_count: 0, pending_count: 0 });
  expect((await call('POST', `/campaigns/${uid}/run`)).status).toBe(200);
  // The server is silent about the first message: everybody else waits.
  const holder = await until(async () => held);
  expect(await look()).toMatchObject({ subscriber_count: PEOPLE, pending_count: PEOPLE - 2, suppressed_count: 2 });
  await db.execute(sql`
    UPDATE subscriber SET status = 'unsubscribed' WHERE list_id = ${list.id}
       AND email = ANY (SELECT 'p' || n || '@ledger.example' FROM unnest(${LEAVING}::int[]) n)`);
  holder.socket.write('250 2.0.0 Ok\r\n');
  await until(async () => {
    await look();
    const status = field(await call('GET', `/campaigns/${uid}`), 'campaign', 'status');
    if (status !== 'done') await sleep(5);
    return status === 'done' ? true : undefined;
  });
  const ledger = {
    pending_count: 0,
    sent_count: PEOPLE - SUPPRESSED.length - LEAVING.length - REFUSED.length - 1,
    failed_count: REFUSED.length,
    skipped_count: LEAVING.length,
    suppressed_count: SUPPRESSED.length,
    unknown_count: 1,
  };
  // A refusal at delivery is a bounce of a message that was never sent.
  expect(await look()).toMatchObject({ subscriber_count: PEOPLE, ...ledger, delivered_count: ledger.sent_count });
  expect(seen.size).toBeGreaterThan(2);
  expect(await ledgerOverGraphql(uid)).toEqual({
    subscriberCount: PEOPLE,
    ...Object.fromEntries(COUNTS.map((name) => [`${name}Count`, ledger[`${name}_count`]])),
  });
});
