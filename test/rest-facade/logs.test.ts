/** The six logs of a campaign as downloads (specification 4.4, decision D24, hard case F8). */
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { recordUnsubscribe } from '../../src/domain/tracking/record-unsubscribe.ts';
import { subscriberUid } from '../../src/lib/ids.ts';
import { seedCampaign, type SeededCampaign } from '../support/audience-rows.ts';
import { countStatements } from '../support/count-statements.ts';
import { recordTrackingEvents } from '../support/record-tracking-events.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp();
const { db } = app.ctx;
const LOGS = ['tracking', 'open', 'click', 'bounce', 'feedback', 'unsubscribe'] as const;
const HEAD = 'time,campaign_uid,subscriber_uid,email';
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

async function world(subscribers: number): Promise<{ tenant: RestTenant; seeded: SeededCampaign }> {
  const tenant = await app.newTenant();
  return { tenant, seeded: await seedCampaign(db, { subscribers, customerId: tenant.customerId }) };
}

function download(tenant: RestTenant, uid: string, log: string, query = '') {
  return app.rest(`/campaigns/${uid}/${log}-log/download${query}`, { token: tenant.token });
}

test('each log has its columns and its rows', async () => {
  const { tenant, seeded } = await world(3);
  const { customerId, campaignId, listId, campaignUid } = seeded;
  const recipient = recipientOfCampaign({
    customerId,
    campaignId,
    listId,
    subscriberId: seeded.subscriberIds[0] ?? 0n,
  });
  const place = { country: 'Ireland', region: 'Leinster', city: 'Dublin' };
  const visitor = { ip: '192.0.2.7', userAgent: '=Reader/1, "x"', isMachine: false, looksAhead: false, place };
  await recordTrackingEvents(app.ctx, [
    { recipient, visitor, linkNo: null, url: null },
    { recipient, visitor: { ...visitor, isMachine: true }, linkNo: 0, url: 'https://example.org/?a=1,2' },
  ]);
  await recordUnsubscribe(app.ctx, { recipient, visitor, source: 'link', reason: 'other' });
  const told = await download(tenant, campaignUid, 'unsubscribe', '?type=json');
  expect(told.body).toEqual([expect.objectContaining({ reason: 'Another reason' })]);
  // As a later version may store one.
  await db.execute(sql`UPDATE hot.unsubscribe_event SET reason = ${'Too\r\nmany'} WHERE source_id = ${campaignId}`);
  await db.execute(sql`INSERT INTO hot.bounce_event (at, customer_id, source_kind, source_id, recipient_id, type, status_code, message)
                       VALUES (now(), ${customerId}, 1, ${campaignId}, ${recipient.recipientId}, 'hard', '5.1.1', '-gone')`);
  await db.execute(sql`INSERT INTO hot.feedback_event (at, customer_id, source_kind, source_id, recipient_id, type, message)
                       VALUES (now(), ${customerId}, 1, ${campaignId}, ${recipient.recipientId}, 'abuse', NULL)`);
  await db.execute(
    sql`UPDATE campaign SET snapshot_on = current_date, from_email = 'news@sénder.example' WHERE id = ${campaignId}`,
  );
  const [server] = await queryRows<{ id: bigint }>(
    db,
    sql`
    INSERT INTO sending_server (customer_id, uid, name, type) VALUES (${customerId}, 'aaaaaaaaaaaaa', 'Main', 'smtp') RETURNING id`,
  );
  await db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, state, email, attempts, reason, reply, runtime_message_id, server_id)
    SELECT current_date, customer_id, 1, ${campaignId}, id, (ARRAY['sent', 'failed', 'skipped'])[row_number() OVER (ORDER BY id)]::hot.delivery_state,
           email, (row_number() OVER (ORDER BY id) < 3)::int, CASE WHEN id > ${recipient.recipientId} THEN 'permanent.mailbox_unknown' END,
           CASE WHEN id > ${recipient.recipientId} THEN '550 no' ELSE '250 ok' END, 'runtime-1', ${server?.id ?? null}
      FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId}`);

  const rowsOf = async (log: string) => {
    const answer = await download(tenant, campaignUid, log);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${log}-log-${campaignUid}.csv"`);
    const [header = '', ...rows] = answer.text.split('\r\n').slice(0, -1);
    for (const row of rows.filter((line) => !line.startsWith('many'))) {
      const [time = '', campaign, subscriber] = row.split(',');
      expect(time).toMatch(TIME);
      expect([campaign, seeded.subscriberIds.map(subscriberUid).includes(subscriber ?? '')]).toEqual([
        campaignUid,
        true,
      ]);
    }
    return [header, ...rows.map((row) => row.split(',').slice(3).join(','))];
  };
  expect(await rowsOf('open')).toEqual([
    `${HEAD},ip,user_agent,country,is_machine,kind`,
    'p1@example.org,192.0.2.7,"\'=Reader/1, ""x""",Ireland,0,human',
  ]);
  expect(await rowsOf('click')).toEqual([
    `${HEAD},url,ip,user_agent,country,is_machine`,
    'p1@example.org,"https://example.org/?a=1,2",192.0.2.7,"\'=Reader/1, ""x""",Ireland,1',
  ]);
  expect(await rowsOf('bounce')).toEqual([`${HEAD},type,status_code,message`, "p1@example.org,hard,5.1.1,'-gone"]);
  expect(await rowsOf('feedback')).toEqual([`${HEAD},type,message`, 'p1@example.org,abuse,']);
  expect((await rowsOf('unsubscribe'))[0]).toBe(`${HEAD},reason,ip,user_agent`);
  const [header, sent, failed, skipped] = await rowsOf('tracking');
  expect(header).toBe(`${HEAD},status,message_id,runtime_message_id,sending_server,error`);
  expect(sent).toMatch(/^p1@example\.org,sent,<[0-9a-z.]+@xn--snder-bsa\.example>,runtime-1,Main,$/);
  expect(failed).toMatch(/^p2@example\.org,failed,<[^,]+>,runtime-1,Main,permanent: mailbox unknown: 550 no$/);
  expect(skipped).toMatch(/^p3@example\.org,skipped,,runtime-1,Main,permanent: mailbox unknown: 550 no$/);

  const json = await download(tenant, campaignUid, 'unsubscribe', '?type=json');
  expect(json.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(json.body).toEqual([
    expect.objectContaining({
      campaign_uid: campaignUid,
      email: 'p1@example.org',
      reason: 'Too\r\nmany',
      ip: '192.0.2.7',
    }),
  ]);
});

test('a campaign without events, and one that was not started, has a header or an empty array', async () => {
  const { tenant, seeded } = await world(1);
  for (const log of LOGS) {
    expect((await download(tenant, seeded.campaignUid, log)).text).toMatch(
      /^time,campaign_uid,subscriber_uid,email,[a-z_,]+\r\n$/,
    );
    expect((await download(tenant, seeded.campaignUid, log, '?type=json')).body).toEqual([]);
  }
});

test('a log of many pages has every event once, in order, in one statement a page', async () => {
  const { tenant, seeded } = await world(2);
  const { customerId, campaignId } = seeded;
  const events = 12_345;
  // Many share one time, as batches do.
  await db.execute(sql`
    INSERT INTO hot.click_event (at, customer_id, source_kind, source_id, recipient_id, link_no, url)
    SELECT date_trunc('second', now()) - make_interval(secs => (${events} - n) / 1000), ${customerId}, 1, ${campaignId}, ${seeded.subscriberIds[0]}, n, 'https://example.org/' || n
      FROM generate_series(1, ${events}::int) n`);
  const { result: csv, statements } = await countStatements(() => download(tenant, seeded.campaignUid, 'click'));
  const urls = csv.text
    .split('\r\n')
    .slice(1, -1)
    .map((line) => Number(line.split('/').at(-1)?.split(',')[0]));
  expect(urls).toEqual(Array.from({ length: events }, (_, n) => n + 1));
  expect(statements.filter((text) => text.includes('hot.click_event'))).toHaveLength(13);
  const json = await download(tenant, seeded.campaignUid, 'click', '?type=json');
  expect((json.body as unknown[]).length).toBe(events);
});

test('a reader that does not read stops the reading of the log, and may come back to it', async () => {
  const { tenant, seeded } = await world(1);
  const { customerId, campaignId, campaignUid } = seeded;
  const [pages, rowsOfPage] = [80, 1_000];
  await db.execute(sql`
    INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id, user_agent)
    SELECT now() - make_interval(secs => n), ${customerId}, 1, ${campaignId}, ${seeded.subscriberIds[0]}, repeat('x', 500)
      FROM generate_series(1, ${pages * rowsOfPage}::int) n`);
  const { port } = new URL(app.baseUrl);
  const socket = connect(Number(port), '127.0.0.1');
  const pagesRead = (texts: readonly string[]) => texts.filter((text) => text.includes('hot.open_event')).length;
  const { statements } = await countStatements(async () => {
    socket.write(
      `GET /api/v1/campaigns/${campaignUid}/open-log/download HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.token}\r\nConnection: close\r\n\r\n`,
    );
    await once(socket, 'readable');
    await sleep(3_000);
  });
  // What the kernel's buffers take, and two pages of ours; the whole is some 45 MB.
  expect(pagesRead(statements)).toBeGreaterThan(1);
  expect(pagesRead(statements)).toBeLessThan(pages - 1);
  let lines = 0;
  for await (const piece of socket) for (const byte of piece) if (byte === 0x0a) lines++;
  expect(lines).toBeGreaterThan(pages * rowsOfPage);
});

test('what comes after the first page was read is not in the log', async () => {
  const { tenant, seeded } = await world(1);
  const { customerId, campaignId } = seeded;
  const add = (minutes: number) =>
    db.execute(sql`
    INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id)
    SELECT now() + make_interval(mins => ${minutes}), ${customerId}, 1, ${campaignId}, ${seeded.subscriberIds[0]} FROM generate_series(1, 10)`);
  await add(-1);
  await add(1);
  expect((await download(tenant, seeded.campaignUid, 'open')).text.split('\r\n')).toHaveLength(12);
});

test('another tenant’s is a 403, an unknown one a 404, a wrong type a 422; a token needs the scope', async () => {
  const { tenant, seeded } = await world(1);
  const other = await app.newTenant();
  const narrow = await app.newTenant({ scopes: ['lists:read'] });
  for (const log of LOGS) {
    expect((await download(other, seeded.campaignUid, log)).status).toBe(403);
    expect((await download(tenant, '0123456789abc', log)).status).toBe(404);
    expect((await download(tenant, seeded.campaignUid, log, '?type=xml')).status).toBe(422);
    expect((await download(narrow, seeded.campaignUid, log)).status).toBe(403);
  }
});

test('a cursor that is none is refused, in GraphQL too', async () => {
  const { tenant, seeded } = await world(1);
  const query = `query ($after: String) { campaignLog(uid: "${seeded.campaignUid}", log: open, after: $after) { __typename ... on CampaignLogPage { columns nodes cursor } } }`;
  const ask = async (after: string | null) => {
    const answer = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tenant.token}` },
      body: JSON.stringify({ query, variables: { after } }),
    });
    return (await answer.json()).data.campaignLog;
  };
  for (const after of ['x', '1.2', "1.2.3'", '9'.repeat(60), '1.99999999999999999999.1'])
    expect(await ask(after)).toEqual({ __typename: 'ValidationError' });
  expect(await ask(null)).toMatchObject({ nodes: [], cursor: null });
});
